package apiclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
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

// checkRedirect follows GET and HEAD within the origin only. Another origin would get the credentials, and another
// method would repeat a change: the redirect of a change is returned as the answer.
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

// connections are those that a transport has made. Its zero value has none.
type connections struct {
	mu sync.Mutex
	// open may also have some that were closed.
	open []net.Conn // +checklocks:mu
}

// dialing returns dial, which notes each connection.
func (c *connections) dialing(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			c.add(conn)
		}
		return conn, err
	}
}

// add notes a connection, and forgets those that were closed.
func (c *connections) add(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(slices.DeleteFunc(c.open, isClosed), conn)
}

// closeLost closes the connections from addresses that the machine does not have any more: nothing
// arrives on them, and TCP notices that only after many minutes.
func (c *connections) closeLost() {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = slices.DeleteFunc(c.open, func(conn net.Conn) bool {
		lost := !slices.ContainsFunc(addresses, func(has net.Addr) bool { return isFrom(conn, has) })
		if lost {
			_ = conn.Close() // it may be closed already
		}
		return lost || isClosed(conn)
	})
}

// isFrom reports whether the local end of a connection is an address of the machine, or no IP address.
// A whole network on the loopback interface belongs to it.
func isFrom(conn net.Conn, has net.Addr) bool {
	local, ok := conn.LocalAddr().(*net.TCPAddr)
	ours, isNet := has.(*net.IPNet)
	return !ok || local.IP.IsLoopback() || isNet && ours.IP.Equal(local.IP)
}

// isClosed reports whether we have closed a connection.
func isClosed(conn net.Conn) bool {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	return err != nil || raw.Control(func(uintptr) {}) != nil
}
