package apiclient

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// newTLSServer starts a service with HTTP/2 and TLS and returns it with a file that
// holds its certificate.
func newTLSServer(t *testing.T, clientCerts tls.ClientAuthType) (*httptest.Server, string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/delete") && r.Proto == "HTTP/2.0" {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("ETag", `"`+r.Proto+`"`)
		reply(w, http.StatusOK, "", "body")
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{ClientAuth: clientCerts, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, writePEM(t, "CERTIFICATE", server.Certificate().Raw)
}

func writePEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTLS(t *testing.T) {
	server, ca := newTLSServer(t, tls.NoClientCert)
	cfg := Config{BaseURL: server.URL, Credentials: Credentials{APIKey: testKey}}

	c := newClient(t, cfg)
	started := time.Now()
	_, err := c.Data(t.Context(), 4)
	wantKind(t, err, OpDocumentData, archive.KindUnreachable)
	if !strings.Contains(err.Error(), "certificate is not trusted") || strings.Count(err.Error(), "x509") != 1 {
		t.Errorf("error is %q", err)
	}
	if stats := c.Stats(); stats[0].Retries != 0 {
		t.Errorf("%d repetitions within %s", stats[0].Retries, time.Since(started))
	}

	cfg.CAFile = ca
	c = newClient(t, cfg)
	content, err := c.Content(t.Context(), archive.ContentRequest{Document: 4, Representation: archive.PDF})
	if err != nil {
		t.Fatal(err)
	}
	if content.ETag != `"HTTP/2.0"` {
		t.Errorf("spoke %s", content.ETag)
	}
	if err := content.Body.Close(); err != nil {
		t.Error(err)
	}

	// A stream that is reset after the request may have had its effect, on a new
	// connection as on one that is used again.
	for _, client := range []*Client{c, newClient(t, cfg)} {
		err := client.Delete(t.Context(), 4)
		wantKind(t, err, OpDelete, archive.KindInterrupted)
		if stats := client.Stats(); stats[0].Operation != OpDelete.name || stats[0].Requests != 1 {
			t.Errorf("statistics are %+v", stats)
		}
	}
}

func TestClientCertificate(t *testing.T) {
	server, ca := newTLSServer(t, tls.RequireAnyClientCert)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{BaseURL: server.URL, Credentials: Credentials{APIKey: testKey}, CAFile: ca, RetryFor: -1}
	if err := newClient(t, cfg).SetAutoExport(t.Context(), 4, true); err == nil {
		t.Error("works without a client certificate")
	}
	cfg.CertFile, cfg.KeyFile = writePEM(t, "CERTIFICATE", cert), writePEM(t, "PRIVATE KEY", der)
	if err := newClient(t, cfg).SetAutoExport(t.Context(), 4, true); err != nil {
		t.Error(err)
	}
}

func TestRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the credentials went to another origin")
	}))
	t.Cleanup(other.Close)
	redirect := func(target string, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/inboxes" || r.Method == http.MethodPost {
				w.Header().Set("Location", target)
				reply(w, status, "", "")
				return
			}
			if r.Header.Get("API-Key") != testKey {
				t.Error("the key is missing after a redirect")
			}
			reply(w, http.StatusOK, mediaJSON, `{"inboxes":[]}`)
		}
	}
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		post    bool
		want    string // part of the error, empty: followed
	}{
		{name: "within the origin", handler: redirect(basePath+apiPath+"/moved", 302)},
		{name: "for good, within the origin", handler: redirect(basePath+apiPath+"/moved", 308)},
		{name: "to another origin", handler: redirect(other.URL+"/x?y", 302), want: other.URL + ", which is not followed"},
		{name: "to https", handler: redirect("https://localhost/", 307), want: "https://localhost,"},
		{name: "in a circle", handler: redirect(basePath+apiPath+"/inboxes", 302), want: "more than 5 redirects"},
		{name: "of a change", handler: redirect(basePath+apiPath+"/moved", 307), post: true, want: "redirects a change"},
		{name: "of a change to GET", handler: redirect(basePath+apiPath+"/moved", 303), post: true, want: "redirects a change"},
		{name: "of a change elsewhere", handler: redirect(other.URL, 302), post: true, want: other.URL},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newService(t, tc.handler)
			op := OpInboxes
			_, err := c.Inboxes(t.Context())
			if tc.post {
				op, err = OpDelete, c.Delete(t.Context(), 4)
			}
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantKind(t, err, op, archive.KindForeign)
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %q, want %q", err, tc.want)
			}
		})
	}
}

func TestALoginPageIsNoContent(t *testing.T) {
	c := newService(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/login" {
			http.Redirect(w, r, basePath+apiPath+"/login", http.StatusFound)
			return
		}
		reply(w, http.StatusOK, "text/html", "<html>")
	})
	_, err := c.Content(t.Context(), archive.ContentRequest{Document: 4, Representation: archive.Original})
	wantKind(t, err, OpOriginal, archive.KindForeign)
}

// Requests go through the proxy that is set, or that of the environment, and errors name it without
// its credentials.
func TestProxies(t *testing.T) {
	var seen []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.Host+" "+r.Header.Get("Proxy-Authorization"))
		if r.URL.Host == "busy.test" {
			reply(w, http.StatusBadGateway, "text/html", "<h1>no route</h1>")
			return
		}
		reply(w, http.StatusOK, mediaJSON, `{"folders":[]}`)
	}))
	t.Cleanup(proxy.Close)
	address := strings.TrimPrefix(proxy.URL, "http://")
	const secret = "hunter2"
	for name, tc := range map[string]struct {
		host, setting, environment, none string
		want                             string // the name of the proxy
		fails                            string
	}{
		"none":                          {host: "127.0.0.1:9"},
		"set":                           {host: "archive.test", setting: "http://" + address, want: proxy.URL + " (--proxy)"},
		"set without a scheme":          {host: "archive.test", setting: address, want: proxy.URL + " (--proxy)"},
		"set, with a login":             {host: "archive.test", setting: "http://anna:" + secret + "@" + address, want: proxy.URL + " (--proxy)"},
		"of the environment":            {host: "archive.test", environment: "http://anna:" + secret + "@" + address, want: proxy.URL + " (HTTP_PROXY)"},
		"set against the environment":   {host: "archive.test", setting: address, environment: "http://127.0.0.1:9", want: proxy.URL + " (--proxy)"},
		"none for that host":            {host: "127.0.0.1:9", environment: proxy.URL, none: "127.0.0.1"},
		"none against the environment":  {host: "127.0.0.1:9", setting: ProxyNone, environment: proxy.URL},
		"one that does not reach it":    {host: "busy.test", setting: address, want: proxy.URL + " (--proxy)", fails: "no answer of the service through the proxy " + proxy.URL + " (--proxy) (HTTP 502)"},
		"one that is not there":         {host: "archive.test", setting: "anna:" + secret + "@127.0.0.1:9", want: "http://127.0.0.1:9 (--proxy)", fails: "unreachable through the proxy http://127.0.0.1:9 (--proxy): connection refused"},
		"one that is not there, of old": {host: "archive.test", environment: "http://127.0.0.1:9", want: "http://127.0.0.1:9 (HTTP_PROXY)", fails: "unreachable through the proxy http://127.0.0.1:9 (HTTP_PROXY): connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			seen = nil
			t.Setenv("HTTP_PROXY", tc.environment)
			t.Setenv("NO_PROXY", tc.none)
			c := newClient(t, Config{BaseURL: "http://" + tc.host, Credentials: Credentials{APIKey: testKey}, Proxy: tc.setting, RetryFor: -1})
			t.Cleanup(c.sender.http.CloseIdleConnections)
			_, err := c.Structure(t.Context(), 0, true)
			if c.Proxy() != tc.want {
				t.Errorf("the proxy is %q, want %q", c.Proxy(), tc.want)
			}
			if tc.want == "" != (len(seen) == 0) && tc.fails == "" {
				t.Errorf("it was asked for %q", seen)
			}
			switch {
			case tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)):
				t.Errorf("error is %v, want %q", err, tc.fails)
			case tc.fails == "" && tc.want != "" && err != nil:
				t.Error(err)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Error(err)
			}
			if tc.fails == "" {
				return
			}
			_, err = c.Structure(t.Context(), 0, true)
			if err == nil || strings.Count(err.Error(), tc.want) != 1 {
				t.Errorf("then the error is %v, want %q once", err, tc.want)
			}
		})
	}
}

func TestProxiesThatAreNone(t *testing.T) {
	for _, wrong := range []string{
		"http://otto:secret 42@proxy:3128", "ftp://otto:secret@proxy", "http://", "otto:secret@proxy:port", "proxy:0", "http://otto:secret@proxy/path", "://",
	} {
		for name, from := range map[string]string{"": "HTTPS_PROXY of the environment is no address", wrong: "proxy: no address"} {
			t.Setenv("HTTPS_PROXY", wrong)
			_, err := New(Config{BaseURL: "https://archive.test", Credentials: Credentials{APIKey: testKey}, Proxy: name})
			var setting *SettingError
			if !errors.As(err, &setting) || setting.Setting != SettingProxy || !strings.Contains(err.Error(), from) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q as %s: %v", wrong, from, err)
			}
		}
	}
}
