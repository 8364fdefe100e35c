package proxy

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/internal/testing/loopback"
)

// Proxy is the proxy. Its methods can be called by several goroutines.
type Proxy struct {
	service http.Handler
	clock   func() uint64
	say     func(format string, args ...any)
	addr    *net.TCPAddr   // constant after Start
	working sync.WaitGroup // requests that the service is carrying out
	slow    atomic.Int32   // those of them that it only will carry out

	mu     sync.Mutex
	server *http.Server   // nil while connections are refused; guarded by mu
	plan   []*planned     // guarded by mu
	struck map[string]int // faults that struck, by name; guarded by mu
	passed []Passed       // guarded by mu
	healed chan struct{}  // closed by Heal; guarded by mu
	gone   chan struct{}  // closed when the service goes away; guarded by mu
	back   *time.Timer    // ends an absence; guarded by mu
	closed bool           // guarded by mu
}

// Start serves on a free port of a loopback address of its own what is asked of the service.
// clock is the clock of the run: each call answers more than the ones before. say is told of
// each fault that strikes.
func Start(service http.Handler, clock func() uint64, say func(format string, args ...any)) (*Proxy, error) {
	p := &Proxy{service: service, clock: clock, say: say, addr: &net.TCPAddr{IP: loopback.Own()}, struck: map[string]int{}}
	p.healed, p.gone = make(chan struct{}), make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	return p, p.listenLocked()
}

// listenLocked takes connections. The caller holds mu.
func (p *Proxy) listenLocked() error {
	ln, err := net.ListenTCP("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	if addr, ok := ln.Addr().(*net.TCPAddr); ok && p.addr.Port == 0 {
		p.addr = addr // for good: a service comes back where it was
	}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: time.Minute}
	go p.server.Serve(ln) //nolint:errcheck // it ends by Close
	return nil
}

// Addr is host and port.
func (p *Proxy) Addr() string { return p.addr.String() }

// goAway refuses connections from now on, and breaks those there are.
func (p *Proxy) goAway(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return
	}
	_ = p.server.Close() // breaks connections, as it should
	p.server = nil
	close(p.gone)
	p.gone = make(chan struct{})
	p.back = time.AfterFunc(d, func() { _ = p.comeBack() }) // Heal says what is wrong
}

// Away reports whether connections are refused.
func (p *Proxy) Away() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server == nil
}

// comeBack takes connections again, unless the proxy has ended meanwhile.
func (p *Proxy) comeBack() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil || p.closed {
		return nil
	}
	return p.listenLocked()
}

// Heal takes all faults back, lets go what hangs, and takes connections again.
func (p *Proxy) Heal() error {
	p.mu.Lock()
	p.plan = nil
	close(p.healed)
	p.healed = make(chan struct{})
	if p.back != nil {
		p.back.Stop()
	}
	p.mu.Unlock()
	return p.comeBack()
}

// Close ends the proxy.
func (p *Proxy) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.healed)
	p.healed = make(chan struct{})
	p.closed = true
	if p.back != nil {
		p.back.Stop()
	}
	if p.server == nil {
		return nil
	}
	if err := p.server.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("proxy: %w", err)
	}
	return nil
}

// Wait returns when the service has nothing to carry out any more. No client is left.
func (p *Proxy) Wait() { p.working.Wait() }

// Late reports whether there are requests that the service will still carry out, slowly.
func (p *Proxy) Late() bool { return p.slow.Load() > 0 }

// Struck counts the faults that really struck, as "net reset after".
func (p *Proxy) Struck() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.struck)
}

// Passed returns the contents that the service was given, in the order of the requests.
func (p *Proxy) Passed() []Passed {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.passed)
}
