package delay

import (
	"net"
	"sync"
	"time"
)

// serveTCP passes bytes on in both directions, each half the delay after it came.
func (p *Proxy) serveTCP() {
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	p.close = func() {
		_ = p.ln.Close()
		mu.Lock()
		defer mu.Unlock()
		for c := range open {
			_ = c.Close()
		}
	}
	p.done.Go(func() {
		for {
			client, err := p.ln.Accept()
			if err != nil {
				return // closed
			}
			p.count(Connections)
			server, err := net.Dial("tcp", p.to) //nolint:noctx // on loopback, and ends by Close
			if err != nil {
				_ = client.Close()
				continue
			}
			mu.Lock()
			open[client], open[server] = true, true
			mu.Unlock()
			p.done.Go(func() { pipe(server, client, p.delay/2) })
			p.done.Go(func() { pipe(client, server, p.delay/2) })
		}
	})
}

// chunk is what came at once, and when it may go on.
type chunk struct {
	bytes []byte
	due   time.Time
}

// pipe passes on what src sends, until its end. What came keeps its distance in time, so
// that a delay makes nothing slower but the way.
func pipe(dst, src net.Conn, delay time.Duration) {
	const most = 4096 // chunks on the way: of 64 KiB, far more than sockets buffer
	chunks := make(chan chunk, most)
	go func() {
		defer close(chunks)
		for {
			b := make([]byte, 64<<10)
			n, err := src.Read(b)
			if n > 0 {
				chunks <- chunk{b[:n], time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	broken := false
	for c := range chunks {
		if broken {
			continue // drained, so that the reader ends
		}
		time.Sleep(time.Until(c.due))
		_, err := dst.Write(c.bytes)
		broken = err != nil
	}
	if half, ok := dst.(*net.TCPConn); ok {
		_ = half.CloseWrite() // it may be closed
	}
}
