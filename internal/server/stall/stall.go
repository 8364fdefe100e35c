// Package stall ends requests whose clients are too slow, and only those: the disks and the work of the service
// are nobody's stalling.
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

// Pace is how fast a client is at least that is never cut, in bytes a second.
const Pace = 1 << 10

const (
	// longStretch is how much of an answer goes out at a time, in bytes, where the system tells
	// meanwhile how much of it the client has taken; shortStretch is how much elsewhere.
	longStretch  = 512 << 10
	shortStretch = 16 << 10
)

// watch ends what a client is too slow for. It is waited for as long as the limit; each byte
// that went gives it the time back that the byte takes at the pace, up to the limit. So who keeps
// the pace is never cut, who stops is cut after the limit, and a byte now and then does not help.
// Only reads and writes are timed, so that a disk that is slow here is not blamed on a client.
type watch struct {
	limit time.Duration
	cut   func(deadline time.Time) error
	// taken tells how many bytes went so far, also within a read or write; nil where only its end tells.
	taken func() int64
	timer *time.Timer

	mu sync.Mutex
	// since is when time was counted last, zero while nothing is watched.
	since time.Time // +checklocks:mu
	// left is how long the client is waited for.
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

// End says that n bytes went, and reports whether all went well. After it the connection is
// never touched.
func (w *watch) End(n int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.countLocked(n)
	w.since = time.Time{}
	w.timer.Stop()
	return !w.fired
}

// countLocked takes the time since it was called last from what is left, and gives time for n
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

// Stalled reports whether it was cut.
func (w *watch) Stalled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fired
}

// fire is called late, too: when what it was set for has ended, and something else begun.
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
	_ = w.cut(time.Unix(1, 0)) // a writer that is no connection cannot stall
}

// Progress watches a request's body and its answer.
type Progress struct {
	Reads, Writes watch
	Limit         time.Duration // for which a client is waited for
	HTTP1         bool
	control       *http.ResponseController
}

// New begins to watch. The deadline that the answer before on the same connection
// was left with ends.
func New(w http.ResponseWriter, r *http.Request, limit time.Duration) *Progress {
	control := http.NewResponseController(w)
	p := &Progress{control: control, HTTP1: r.ProtoMajor < 2, Limit: limit}
	p.Reads = watch{limit: limit, cut: control.SetReadDeadline}
	p.Writes = watch{limit: limit, cut: control.SetWriteDeadline}
	if p.HTTP1 {
		p.Writes.taken = takenOf(r.Context())     // over HTTP/2 others take from the same connection
		_ = control.SetWriteDeadline(time.Time{}) // see Finish
	}
	return p
}

// Stretch is how many bytes of an answer go out before it counts how long they took.
func (p *Progress) Stretch() int64 {
	if p != nil && p.Writes.taken == nil {
		return shortStretch
	}
	return longStretch
}

// Finish leaves time for what net/http does when the handler has returned: it reads what is
// left of the body, and then sends what is left of the answer.
func (p *Progress) Finish(bodyRead bool) {
	now := time.Now()
	_ = p.control.SetWriteDeadline(now.Add(2 * p.Limit)) // not all writers are connections
	if p.HTTP1 && !bodyRead {
		_ = p.control.SetReadDeadline(now.Add(p.Limit))
	}
}

type takenKey struct{}

// WithTaken remembers of a connection what tells how many bytes its client has taken, where the
// system does.
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

// takenOf returns it for the connection of a request, nil when there is none.
func takenOf(ctx context.Context) func() int64 {
	taken, _ := ctx.Value(takenKey{}).(func() int64)
	return taken
}
