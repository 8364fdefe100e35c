package apiclient

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// What net/http reports is for programmers: people are told what happened, without the addresses
// of sockets, and programs can still tell what it was.
func TestTransportErrorsInWords(t *testing.T) {
	near, far := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4711}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8081}
	op := func(what string, err error) error {
		return &net.OpError{Op: what, Net: "tcp", Source: near, Addr: far, Err: err}
	}
	call := func(name string, err syscall.Errno) error { return op(name, os.NewSyscallError(name, err)) }
	const closed = "the other side closed the connection"
	for _, test := range []struct {
		err  error
		want string
	}{
		{op("readfrom", op("write", net.ErrClosed)), closed},
		{op("readfrom", call("splice", syscall.EPIPE)), closed},
		{fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w", call("write", syscall.EPIPE)), closed},
		{call("read", syscall.ECONNRESET), closed},
		{io.EOF, closed},
		{fmt.Errorf("net/http: Transport failed to read from server: %w", io.ErrUnexpectedEOF), closed},
		{call("connect", syscall.ECONNREFUSED), "connection refused"},
		{call("connect", syscall.EHOSTUNREACH), "no route to host"},
		{call("connect", syscall.ETIMEDOUT), "no answer in time"},
		{op("dial", os.ErrDeadlineExceeded), "no answer in time"},
		{op("dial", &net.DNSError{Err: "no such host", Name: "nowhere.example", Server: "127.0.0.53:53"}), "the name nowhere.example cannot be looked up: no such host"},
		{&net.OpError{Op: "proxyconnect", Net: "tcp", Err: call("connect", syscall.ECONNREFUSED)}, "connection refused"},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}, "remote error: tls: certificate required"},
		{op("dial", &net.AddrError{Err: "mismatched local address type", Addr: "x"}), "address x: mismatched local address type"},
		{http.ErrSchemeMismatch, http.ErrSchemeMismatch.Error()},
	} {
		c := newClient(t, Config{
			BaseURL: "http://archive.example", Credentials: Credentials{APIKey: testKey}, RetryFor: -1, Transport: unconnected{test.err},
		})
		_, err := c.Inboxes(t.Context())
		if !strings.HasSuffix(err.Error(), ": "+test.want) || !errors.Is(err, test.err) {
			t.Errorf("%v:\ngot  %v\nwant %s", test.err, err, test.want)
		}
	}
}

// So it is with real connections.
func TestLostConnectionsInWords(t *testing.T) {
	addresses := regexp.MustCompile(`:\d{3,5}\b|\btcp\b|EOF|closed network connection|broken pipe|reset by peer`)
	cut := newService(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 1<<10)
		panic(http.ErrAbortHandler)
	})
	gone, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := newClient(t, Config{BaseURL: "http://" + gone.Addr().String(), Credentials: Credentials{APIKey: testKey}, RetryFor: -1})
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Client{cut, nobody} {
		_, asking := c.Inboxes(t.Context())
		_, sending := c.Upload(t.Context(), archive.Upload{Name: "a.pdf", Folder: 1}, newBlob(strings.Repeat("x", 8<<20)))
		for _, err := range []error{asking, sending} {
			if err == nil || addresses.MatchString(err.Error()) {
				t.Errorf("got %v", err)
			}
		}
	}
}

// What a proxy says is told once, with who may change it. The status is that of a proxy before the service, or the answer
// of one that was named to CONNECT.
func TestRefusalsOfProxiesSayWhatHelps(t *testing.T) {
	nginx := func(status int, said string) http.HandlerFunc {
		return answer(status, "text/html", "<html>\r\n<head><title>"+said+"</title></head>\r\n<body>\r\n<center><h1>"+said+
			"</h1></center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n")
	}
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a limit of nginx": {
			nginx(http.StatusRequestEntityTooLarge, "413 Request Entity Too Large"),
			"too large (HTTP 413): Request Entity Too Large nginx/1.22.1: who runs the service, or a proxy before it, sets the limit",
		},
		"nginx that waited": {
			nginx(http.StatusGatewayTimeout, "504 Gateway Time-out"),
			"no answer of the service (HTTP 504): Gateway Time-out nginx/1.22.1: who runs the proxy sets how long it waits for the service",
		},
		"HAProxy that waited": {
			answer(http.StatusRequestTimeout, "text/html", "<html><body><h1>408 Request Time-out</h1>\nYour browser didn't send a complete request in time.\n</body></html>\n"),
			"connection lost (HTTP 408): Request Time-out Your browser didn't send a complete request in time: " +
				"who runs the service, or a proxy before it, sets how long it waits for a request",
		},
		"a connection that ends at 1 MiB": {
			func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
				panic(http.ErrAbortHandler)
			},
			"connection lost: the other side closed the connection while it was sent, as a proxy with a limit does: who runs it can tell",
		},
		"no answer": {
			func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			},
			"timed out: the service did not answer for 300ms; a longer --timeout waits for it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newService(t, tc.answer)
			c.sender.config.Stall = 300 * time.Millisecond
			_, err := c.Upload(t.Context(), archive.Upload{Name: "a.pdf", Folder: 1}, newBlob(strings.Repeat("x", 8<<20)))
			if want := "send the file: " + tc.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refuses.Close()
	for proxy, want := range map[string]string{
		ProxyNone:   "credentials refused (HTTP 401)",
		refuses.URL: "credentials refused through the proxy " + refuses.URL + " (--proxy) (HTTP 401): it may be the proxy that refuses them: --proxy takes USER:PASSWORD@ before the host",
	} {
		c := newClient(t, Config{BaseURL: refuses.URL, Credentials: Credentials{APIKey: testKey}, RetryFor: -1, Proxy: proxy})
		if _, err := c.Inboxes(t.Context()); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("with the proxy %s:\ngot  %v\nwant %s", proxy, err, want)
		}
	}
	for status, want := range map[string]string{
		"403 Forbidden":                     "it answered 403 Forbidden",
		"407 Proxy Authentication Required": "it answered 407 Proxy Authentication Required: --proxy takes USER:PASSWORD@ before the host",
	} {
		t.Run(status, func(t *testing.T) {
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				code, _ := strconv.Atoi(status[:3])
				w.WriteHeader(code)
			}))
			defer proxy.Close()
			host := proxy.URL
			c := newClient(t, Config{BaseURL: "https://archive.example", Credentials: Credentials{APIKey: testKey}, RetryFor: -1, Proxy: host})
			_, err := c.Upload(t.Context(), archive.Upload{Name: "a.pdf", Folder: 1}, newBlob("x"))
			if want := "send the file: service unreachable through the proxy " + host + " (--proxy): " + want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}
