// Package pace ends transfers whose other side is too slow. Only the time that one waits for it counts.
package pace

import (
	"math"
	"sync"
	"time"
)

// Least is the slowest pace, in bytes a second, at which a content is never cut.
const Least = 1 << 10

// Watch calls Expire once the other side has used up its time. Time passes between Begin and End, and each
// transferred byte gives back the time that it takes at the least pace, up to Limit. So a transfer that keeps
// the pace never expires, one that stops expires after Limit, and an occasional byte does not help.
type Watch struct {
	Limit  time.Duration
	Expire func() // called with the lock of the Watch
	// Taken returns how many bytes were transferred so far, also before End; nil if that is known only then.
	Taken func() int64

	mu    sync.Mutex
	timer *time.Timer // +checklocks:mu
	// waits counts calls of Begin less those of End.
	waits int // +checklocks:mu
	// used is the time that was used until since.
	used  time.Duration // +checklocks:mu
	since time.Time     // +checklocks:mu
	// moved is when the wait began, or the last bytes were transferred after that.
	moved time.Time // +checklocks:mu
	// total is what Taken returned last.
	total   int64 // +checklocks:mu
	expired bool  // +checklocks:mu
}

// Begin begins to wait for the other side. Several waits at a time count once.
func (w *Watch) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits++; w.waits != 1 {
		return
	}
	w.since = time.Now()
	w.moved = w.since
	if w.timer != nil {
		w.timer.Reset(w.Limit - w.used)
		return
	}
	if w.Taken != nil {
		w.total = w.Taken()
	}
	w.timer = time.AfterFunc(w.Limit, w.fire)
}

// End ends a wait, in which n bytes were transferred, and reports whether the other side was fast enough.
// After the last wait nothing expires.
func (w *Watch) End(n, least int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.countLocked(n, least)
	if w.waits--; w.waits == 0 {
		w.timer.Stop()
	}
	return !w.expired
}

// Earn gives back the time that n bytes take at the least pace.
func (w *Watch) Earn(n, least int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.countLocked(n, least)
}

// Renew gives back all time.
func (w *Watch) Renew() { w.Earn(math.MaxInt32, 1) }

// Silent is how long nothing was transferred while the other side is waited for; 0 while it is not.
func (w *Watch) Silent() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits <= 0 {
		return 0
	}
	return time.Since(w.moved)
}

// Expired reports whether Expire was called.
func (w *Watch) Expired() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.expired
}

// countLocked adds the time since its last call to what is used, and gives back time for n bytes, or for
// those that were taken if they are more.
// +checklocks:w.mu
func (w *Watch) countLocked(n, least int64) {
	if w.Taken != nil {
		total := max(w.Taken(), w.total)
		n, w.total = max(n, total-w.total), total
	}
	now := time.Now()
	if w.waits > 0 {
		w.used += now.Sub(w.since)
	}
	if w.since = now; n > 0 {
		w.moved = now
		w.used = max(w.used-time.Duration(min(n, math.MaxInt32))*time.Second/time.Duration(least), 0)
	}
}

// fire calls Expire if the time is up. It may be called late, when bytes have given back time, or another
// wait has begun.
func (w *Watch) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits <= 0 {
		return
	}
	if w.countLocked(0, Least); w.used < w.Limit {
		w.timer.Reset(w.Limit - w.used)
		return
	}
	w.expired = true
	w.Expire()
}
