package apiclient

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// longestDial bounds making a connection, and its TLS handshake.
const longestDial = 10 * time.Second

// ProxyNone is the Config.Proxy of a client that uses no proxy, whatever the environment says.
const ProxyNone = "none"

// proxyOf returns the proxy for requests to base, nil for none, and its name for messages. The error does
// not quote the address, which may have a password.
func proxyOf(setting string, base *url.URL) (proxy *url.URL, name string, err error) {
	from, form := "--proxy", "no address of the form http://HOST:PORT"
	switch {
	case setting == ProxyNone:
	case setting == "":
		from = strings.ToUpper(base.Scheme) + "_PROXY"
		form = from + " of the environment is " + form
		proxy, err = httpproxy.FromEnvironment().ProxyFunc()(base)
	case strings.Contains(setting, "://"):
		proxy, err = url.Parse(setting)
	default:
		proxy, err = url.Parse("http://" + setting)
	}
	if proxy == nil && err == nil {
		return nil, "", nil
	}
	if err != nil || proxy.Hostname() == "" || proxy.Port() != "" && !isPort(proxy.Port()) || strings.TrimSuffix(proxy.Path, "/") != "" ||
		!slices.Contains([]string{"http", "https", "socks5", "socks5h"}, proxy.Scheme) {
		return nil, "", unusable(SettingProxy, "%s", form)
	}
	return proxy, proxy.Scheme + "://" + proxy.Host + " (" + from + ")", nil
}

// newTransport returns the connection pool of cfg: HTTP/2 if the service has it, as many idle
// connections as requests in flight. It notes them in made.
func newTransport(cfg Config, proxy *url.URL, made *connections) (*http.Transport, error) {
	tlsConfig, err := newTLS(cfg)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: min(longestDial, cfg.Stall), KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyURL(proxy),
		OnProxyConnectResponse: connected,
		DialContext:            made.dialing(dialer.DialContext),
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    min(longestDial, cfg.Stall),
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    cfg.Connections,
		IdleConnTimeout:        time.Minute,
		ExpectContinueTimeout:  time.Second,
		WriteBufferSize:        int(min(cmp.Or(cfg.UploadLimit, 64<<10), 64<<10)), // a slow upload still moves every second
		ReadBufferSize:         64 << 10,
		// A stalled request does not close a dead HTTP/2 connection. Pings do.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}, nil
}

// newTLS returns the TLS settings of cfg: at least TLS 1.2, the system's certificates
// and those of CAFile, the client certificate.
func newTLS(cfg Config) (*tls.Config, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.CAFile != "" {
		pem, err := os.ReadFile(cfg.CAFile)
		if err != nil {
			return nil, unusable(SettingCAFile, "%w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("system certificates: %w", err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, unusable(SettingCAFile, "%s holds no PEM certificate", cfg.CAFile)
		}
		settings.RootCAs = pool
	}
	if (cfg.CertFile == "") != (cfg.KeyFile == "") {
		return nil, unusable(SettingCertFile, "the certificate file and the key file belong together")
	}
	if cfg.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(cfg.CertFile, cfg.KeyFile)
		if err != nil {
			return nil, unusable(SettingCertFile, "%w", err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return settings, nil
}

// maxRedirects bounds the redirects of one request.
const maxRedirects = 5

// redirectError is a redirect that is not followed.
type redirectError struct{ reason string }

func (e *redirectError) Error() string { return e.reason }

// checkRedirect follows GET and HEAD within the origin only. Another origin would get the
// credentials, and another method would repeat a change: the redirect of a change is returned as
// the answer.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	if first.Method != http.MethodGet && first.Method != http.MethodHead {
		return http.ErrUseLastResponse
	}
	if from, to := origin(first.URL), origin(next.URL); from != to {
		return &redirectError{fmt.Sprintf("the service redirects to another origin, %s, which is not followed: "+
			"it would be sent the credentials; if it is the right one, make it the base URL", to)}
	}
	if len(via) > maxRedirects {
		return &redirectError{fmt.Sprintf("more than %d redirects", maxRedirects)}
	}
	return nil
}
