package delay

import (
	"context"
	"maps"
	"net"
	"sync"
	"time"
)

// Mode is what a proxy delays.
type Mode string

// The modes.
const (
	None Mode = ""     // there is nothing to delay
	HTTP Mode = "http" // each request, by the whole delay
	Flat Mode = "flat" // as HTTP, of a service that refuses lists with the documents of sub-folders
	TCP  Mode = "tcp"  // each byte, by half the delay each way
)

// The counts beside those of the methods.
const (
	Connections = "_conns"
	MaxInFlight = "_maxinflight"
)

// Proxy passes everything on to one server.
type Proxy struct {
	to    string
	delay time.Duration
	ln    net.Listener
	close func()
	done  sync.WaitGroup

	mu     sync.Mutex
	counts map[string]int // guarded by mu
	flying int            // guarded by mu: requests that are not answered yet
}

// Start starts a proxy in front of the server at the address to.
func Start(ctx context.Context, mode Mode, to string, delay time.Duration) (*Proxy, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{to: to, delay: delay, ln: ln, counts: map[string]int{}}
	if mode == TCP {
		p.serveTCP()
	} else {
		p.serveHTTP(mode == Flat)
	}
	return p, nil
}

// Address is where the proxy listens.
func (p *Proxy) Address() string { return p.ln.Addr().String() }

// Close ends the proxy and all connections through it.
func (p *Proxy) Close() {
	p.close()
	p.done.Wait()
}

// Counts are the requests by method since the start, and for HTTP the most that were in
// flight at a time.
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// Reset begins to count anew.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.counts)
}

func (p *Proxy) count(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[what]++
}

// begin counts a request; end is its end.
func (p *Proxy) begin(method string) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[method]++
	p.flying++
	p.counts[MaxInFlight] = max(p.counts[MaxInFlight], p.flying)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.flying--
	}
}
