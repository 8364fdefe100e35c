package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// watch ends what makes no progress: one read, or one write, at a time. Nothing is timed in
// between, so that a disk that is slow here is not blamed on a client.
type watch struct {
	limit time.Duration
	cut   func(deadline time.Time) error
	timer *time.Timer

	mu    sync.Mutex
	since time.Time // zero while nothing is watched; guarded by mu
	fired bool      // guarded by mu
}

func (w *watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Now()
	if w.timer == nil {
		w.timer = time.AfterFunc(w.limit, w.fire)
		return
	}
	w.timer.Reset(w.limit)
}

// end reports whether all went well. After it the connection is never touched.
func (w *watch) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Time{}
	w.timer.Stop()
	return !w.fired
}

// stalled reports whether it was cut.
func (w *watch) stalled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fired
}

// fire is called late, too: when what it was set for has ended, and something else begun.
func (w *watch) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() || time.Since(w.since) < w.limit {
		return
	}
	w.fired = true
	_ = w.cut(time.Unix(1, 0)) // a writer that is no connection cannot stall
}

// progress watches a request's body and its answer.
type progress struct {
	control       *http.ResponseController
	http1         bool
	limit         time.Duration
	reads, writes watch
}

// newProgress begins to watch. The deadline that the answer before on the same connection
// was left with ends.
func newProgress(w http.ResponseWriter, r *http.Request, limit time.Duration) *progress {
	control := http.NewResponseController(w)
	p := &progress{control: control, http1: r.ProtoMajor < 2, limit: limit}
	p.reads = watch{limit: limit, cut: control.SetReadDeadline}
	p.writes = watch{limit: limit, cut: control.SetWriteDeadline}
	if p.http1 {
		_ = control.SetWriteDeadline(time.Time{}) // see finish
	}
	return p
}

// finish leaves time for what net/http does when the handler has returned: it reads what is
// left of the body, and then sends what is left of the answer.
func (p *progress) finish(bodyRead bool) {
	now := time.Now()
	_ = p.control.SetWriteDeadline(now.Add(2 * p.limit)) // not all writers are connections
	if p.http1 && !bodyRead {
		_ = p.control.SetReadDeadline(now.Add(p.limit))
	}
}

// inbound is a request's body. One whose sender stopped in the middle ends with an error of
// KindTimeout.
type inbound struct {
	io.ReadCloser
	w     *response
	ended bool
}

// Read implements io.Reader.
func (b *inbound) Read(p []byte) (int, error) {
	progress := b.w.progress
	progress.reads.begin()
	n, err := b.ReadCloser.Read(p)
	inTime := progress.reads.end()
	b.w.received += int64(n)
	b.ended = b.ended || errors.Is(err, io.EOF)
	if !inTime || errors.Is(err, os.ErrDeadlineExceeded) {
		if progress.http1 {
			b.w.Header().Set("Connection", "close")
		}
		return n, refuse(archive.KindTimeout, "nothing of the body came for %s", progress.limit)
	}
	return n, err
}
