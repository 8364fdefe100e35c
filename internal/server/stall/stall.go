// Package stall ends requests whose clients are too slow. Slow disks and slow work of the service do not count.
package stall

import (
	"context"
	"crypto/tls"
	"math"
	"net"
	"net/http"
	"sync"
	"time"
)

// Pace is the slowest pace, in bytes a second, at which a client is never cut.
const Pace = 1 << 10

const (
	// longStretch is how many bytes of an answer are sent at a time if the system reports how many of
	// them the client has received so far; shortStretch is for other systems.
	longStretch  = 512 << 10
	shortStretch = 16 << 10
)

// watch cuts off a client that is too slow. The time spent waiting for the client counts against
// limit, and each transferred byte gives back the time that it takes at Pace, up to limit. So a client
// that keeps the pace is never cut, one that stops is cut after limit, and an occasional byte does not
// help. Only reads and writes on the connection are timed, so a slow disk of the service does not count.
type watch struct {
	limit time.Duration
	cut   func(deadline time.Time) error
	// taken returns how many bytes were transferred so far, also during a read or write; nil if that is
	// known only at its end.
	taken func() int64
	timer *time.Timer

	mu sync.Mutex
	// since is when time was last counted, zero while nothing is watched.
	since time.Time // +checklocks:mu
	// left is how much longer to wait for the client.
	left time.Duration // +checklocks:mu
	// total is what taken returned last.
	total int64 // +checklocks:mu
	fired bool  // +checklocks:mu
}

func (w *watch) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Now()
	if w.timer != nil {
		w.timer.Reset(w.left)
		return
	}
	w.left = w.limit
	if w.taken != nil {
		w.total = w.taken()
	}
	w.timer = time.AfterFunc(w.left, w.fire)
}

// End notes that n bytes were transferred, and reports whether the client was fast enough. After End
// the connection is not cut.
func (w *watch) End(n int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.countLocked(n)
	w.since = time.Time{}
	w.timer.Stop()
	return !w.fired
}

// countLocked subtracts the time since its last call from what is left, and gives back time for n
// bytes, or for those that were taken if they are more.
// +checklocks:w.mu
func (w *watch) countLocked(n int64) {
	if w.taken != nil {
		total := max(w.taken(), w.total)
		n, w.total = max(n, total-w.total), total
	}
	now := time.Now()
	back := min(time.Duration(min(n, math.MaxInt32))*time.Second/Pace, w.limit)
	w.left = min(w.left-now.Sub(w.since)+back, w.limit)
	w.since = now
}

// Stalled reports whether the client was cut.
func (w *watch) Stalled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fired
}

// fire cuts the client if its time is up. It may be called late, when the read or write for which the
// timer was set has ended, and another one has begun.
func (w *watch) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return
	}
	if w.countLocked(0); w.left > 0 {
		w.timer.Reset(w.left)
		return
	}
	w.fired = true
	_ = w.cut(time.Unix(1, 0)) // fails for a writer that is no connection, which cannot stall
}

// Progress watches a request's body and its answer.
type Progress struct {
	Reads, Writes watch
	Limit         time.Duration // how long to wait for the client
	HTTP1         bool
	control       *http.ResponseController
}

// New begins to watch. It removes the deadline that Finish left on the connection after the previous
// answer.
func New(w http.ResponseWriter, r *http.Request, limit time.Duration) *Progress {
	control := http.NewResponseController(w)
	p := &Progress{control: control, HTTP1: r.ProtoMajor < 2, Limit: limit}
	p.Reads = watch{limit: limit, cut: control.SetReadDeadline}
	p.Writes = watch{limit: limit, cut: control.SetWriteDeadline}
	if p.HTTP1 {
		p.Writes.taken = takenOf(r.Context())     // HTTP/2 shares the connection among requests
		_ = control.SetWriteDeadline(time.Time{}) // see Finish
	}
	return p
}

// Stretch is how many bytes of an answer are sent before their time is counted.
func (p *Progress) Stretch() int64 {
	if p != nil && p.Writes.taken == nil {
		return shortStretch
	}
	return longStretch
}

// Finish sets deadlines for what net/http does after the handler: it reads the rest of the body, and
// then sends the rest of the answer.
func (p *Progress) Finish(bodyRead bool) {
	now := time.Now()
	_ = p.control.SetWriteDeadline(now.Add(2 * p.Limit)) // not all writers are connections
	if p.HTTP1 && !bodyRead {
		_ = p.control.SetReadDeadline(now.Add(p.Limit))
	}
}

type takenKey struct{}

// WithTaken adds to the context of a connection a function that returns how many bytes the client has
// received, if the system knows.
func WithTaken(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	if plain, ok := conn.(*net.TCPConn); ok {
		if taken := acknowledged(plain); taken != nil {
			return context.WithValue(ctx, takenKey{}, taken)
		}
	}
	return ctx
}

// takenOf returns that function for the connection of a request, nil if there is none.
func takenOf(ctx context.Context) func() int64 {
	taken, _ := ctx.Value(takenKey{}).(func() int64)
	return taken
}
