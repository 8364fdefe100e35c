package fs_test

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/loopback"
)

// line is the connection to a service, which a test can cut, or silence: then connections are
// accepted, but nothing passes.
type line struct {
	t       testing.TB
	service string // host and port
	addr    *net.TCPAddr

	mu sync.Mutex
	// listener is nil while it is cut.
	listener *net.TCPListener // +checklocks:mu
	conns    []net.Conn       // +checklocks:mu
	// open is closed while everything passes.
	open chan struct{} // +checklocks:mu
	work sync.WaitGroup
}

// newLine returns a line to the service at baseURL, and the base URL through it.
func newLine(t testing.TB, baseURL string) (*line, string) {
	t.Helper()
	u := get(url.Parse(baseURL))(t)
	open := make(chan struct{})
	close(open)
	l := &line{t: t, service: u.Host, addr: &net.TCPAddr{IP: loopback.Own()}, open: open}
	l.mend()
	t.Cleanup(func() {
		l.speak()
		l.cut()
		l.work.Wait()
	})
	return l, strings.Replace(baseURL, u.Host, l.addr.String(), 1)
}

// cut breaks all connections and refuses others.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listener == nil {
		return
	}
	must(l.t, l.listener.Close())
	l.listener = nil
	for _, c := range l.conns {
		_ = c.Close() // the other end may have closed it
	}
	l.conns = nil
}

// mend takes connections again.
func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	listener := get(net.ListenTCP("tcp", l.addr))(l.t)
	l.listener, l.addr = listener, listener.Addr().(*net.TCPAddr) // that of a TCP listener
	l.work.Go(func() { l.accept(listener) })
}

// silence lets nothing pass until speak.
func (l *line) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = make(chan struct{})
}

func (l *line) speak() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

func (l *line) accept(from *net.TCPListener) {
	for {
		client, err := from.Accept()
		if err != nil {
			return
		}
		service, err := (&net.Dialer{}).DialContext(l.t.Context(), "tcp", l.service)
		if err != nil {
			_ = client.Close() // as if it was cut
			continue
		}
		l.mu.Lock()
		l.conns = append(l.conns, client, service)
		if l.listener != from { // cut meanwhile
			_, _ = client.Close(), service.Close()
		}
		l.mu.Unlock()
		l.work.Go(func() { l.pass(service, client) })
		l.work.Go(func() { l.pass(client, service) })
	}
}

// pass copies data until one side ends.
func (l *line) pass(to io.WriteCloser, from io.Reader) {
	defer to.Close() //nolint:errcheck // it is the end in any case
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		l.mu.Lock()
		open := l.open
		l.mu.Unlock()
		<-open
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}
