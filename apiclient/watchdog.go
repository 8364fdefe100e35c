package apiclient

import (
	"errors"
	"math"
	"sync"
	"time"
)

// errStalled is why the context of a stalled request ends.
var errStalled = errors.New("too little progress")

// The slowest pace allowed, in bytes a second: of a request's body and a content, and of any other
// answer. The latter is so fast that in practice other answers have a deadline, which only a long
// listing extends.
const (
	bodyPace   = 1 << 10
	answerPace = 64 << 10
)

// watchdog calls expire when the service has used up its time. Each byte gives back the time that
// it takes at the slowest pace, up to the limit. So a transfer that keeps the pace never expires,
// one that stops expires after the limit, and an occasional byte does not help. Time passes only
// while the watchdog is armed, not while the caller keeps a body waiting.
type watchdog struct {
	limit time.Duration

	mu    sync.Mutex
	timer *time.Timer // +checklocks:mu
	// left is the time that was left at since.
	left  time.Duration // +checklocks:mu
	since time.Time     // +checklocks:mu
	armed bool          // +checklocks:mu
	// moved is when it was armed, or the last bytes went or came after that.
	moved time.Time // +checklocks:mu
}

// newWatchdog returns an armed watchdog.
func newWatchdog(limit time.Duration, expire func()) *watchdog {
	now := time.Now()
	return &watchdog{limit: limit, left: limit, timer: time.AfterFunc(limit, expire), since: now, moved: now, armed: true}
}

// arm starts the clock.
func (w *watchdog) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.armed {
		w.armed, w.since = true, time.Now()
		w.moved = w.since
		w.timer.Reset(w.left)
	}
}

// silent is how long the service has taken and sent nothing; 0 while nobody waits for it.
func (w *watchdog) silent() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.armed {
		return 0
	}
	return time.Since(w.moved)
}

// earn gives back the time that n bytes take at a pace.
func (w *watchdog) earn(n, pace int) {
	w.add(time.Duration(min(n, math.MaxInt32)) * time.Second / time.Duration(pace))
}

// renew gives back the full time.
func (w *watchdog) renew() { w.add(w.limit) }

func (w *watchdog) add(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.countLocked()
	if d > 0 {
		w.moved = time.Now()
	}
	w.left = min(max(w.left, 0)+d, w.limit)
	if w.armed {
		w.timer.Reset(w.left)
	}
}

// rest stops the clock.
func (w *watchdog) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.countLocked()
	w.armed = false
	w.timer.Stop()
}

// countLocked subtracts the time since the last call from what is left.
// +checklocks:w.mu
func (w *watchdog) countLocked() {
	if w.armed {
		now := time.Now()
		w.left -= now.Sub(w.since)
		w.since = now
	}
}
