package apiclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/archivefs/archivefs/archive"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// basePath is where the tests' service lives: below a path of its own, as behind a
// proxy.
const basePath = "/intern/archive"

const testKey = "key-0123456789"

// newService starts a service and returns a client of it. The handler sees paths below
// /api/v2.
func newService(t *testing.T, handler http.HandlerFunc, change ...func(*Config)) *Client {
	t.Helper()
	server := httptest.NewServer(http.StripPrefix(basePath+apiPath, handler))
	t.Cleanup(server.Close)
	cfg := Config{BaseURL: server.URL + basePath, Credentials: Credentials{APIKey: testKey}, RetryFor: -1}
	for _, f := range change {
		f(&cfg)
	}
	return newClient(t, cfg)
}

func newClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// newBubbleService is newService over connections in memory, for tests in a bubble of
// testing/synctest, where time passes only while everything waits.
func newBubbleService(t *testing.T, handler http.HandlerFunc, change ...func(*Config)) *Client {
	t.Helper()
	network := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: http.StripPrefix(basePath+apiPath, handler), ReadHeaderTimeout: 1 << 62}
	done := make(chan error)
	go func() { done <- server.Serve(network) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	transport := &http.Transport{DialContext: network.dial, ExpectContinueTimeout: 1}
	cfg := Config{
		BaseURL: "http://localhost" + basePath, Credentials: Credentials{APIKey: testKey}, Transport: transport,
	}
	for _, f := range change {
		f(&cfg)
	}
	return newClient(t, cfg)
}

// pipes is a listener whose connections are net.Pipes.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	closing  sync.Once
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.accepted <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.closing.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// standing answers requests for the top of the archive, and leaves others to handler.
func standing(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/archivestructure") {
			reply(w, http.StatusOK, mediaJSON, `{"folders":[{"id":1,"name":"M"}]}`)
			return
		}
		handler(w, r)
	}
}

// answer returns a handler that always answers the same.
func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { reply(w, status, contentType, body) }
}

func reply(w http.ResponseWriter, status int, contentType, body string) {
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // a client that has gone is the test's business
}

// chunk sends a part of a body.
func chunk(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text) // as above
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// wantKind fails the test unless err is an *archive.Error of op and kind.
func wantKind(t *testing.T, err error, op Operation, kind archive.Kind) {
	t.Helper()
	var e *archive.Error
	if !errors.As(err, &e) || e.Op != op.doing || e.Kind != kind {
		t.Fatalf("error is %v, want %s: %s", err, op, kind)
	}
}

// blob is an archive.Blob in memory.
type blob struct{ *bytes.Reader }

func newBlob(text string) blob { return blob{bytes.NewReader([]byte(text))} }

func (b blob) Size() int64 { return b.Reader.Size() }

// newLog returns a logger of every level and what it has written.
func newLog() (*logrus.Logger, *bytes.Buffer) {
	var out bytes.Buffer
	log := logrus.New()
	log.SetOutput(&out)
	log.SetLevel(logrus.TraceLevel)
	return log, &out
}
