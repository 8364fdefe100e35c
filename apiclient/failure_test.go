package apiclient

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

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
