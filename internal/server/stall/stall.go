// Package stall ends requests whose clients are too slow. Only reads and writes on the connection are timed, so slow disks
// and slow work of the service do not count.
package stall

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/archivefs/archivefs/internal/pace"
)

const (
	// longStretch is how many bytes of an answer are sent at a time if the system reports how many of
	// them the client has received so far; shortStretch is for other systems.
	longStretch  = 512 << 10
	shortStretch = 16 << 10
)

// Progress watches a request's body and its answer.
type Progress struct {
	Reads, Writes pace.Watch
	Limit         time.Duration // how long to wait for the client
	HTTP1         bool
	control       *http.ResponseController
}

// New begins to watch. It removes the deadline that Finish left on the connection after the previous answer.
func New(w http.ResponseWriter, r *http.Request, limit time.Duration) *Progress {
	control := http.NewResponseController(w)
	p := &Progress{control: control, HTTP1: r.ProtoMajor < 2, Limit: limit}
	// The deadlines fail for a writer that is no connection, which cannot stall.
	p.Reads = pace.Watch{Limit: limit, Expire: func() { _ = control.SetReadDeadline(time.Unix(1, 0)) }}
	p.Writes = pace.Watch{Limit: limit, Expire: func() { _ = control.SetWriteDeadline(time.Unix(1, 0)) }}
	if p.HTTP1 {
		p.Writes.Taken, _ = r.Context().Value(takenKey{}).(func() int64) // HTTP/2 shares the connection among requests
		_ = control.SetWriteDeadline(time.Time{})                        // see Finish
	}
	return p
}

// Stretch is how many bytes of an answer are sent before their time is counted.
func (p *Progress) Stretch() int64 {
	if p != nil && p.Writes.Taken == nil {
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
