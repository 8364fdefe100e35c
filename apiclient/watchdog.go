package apiclient

import (
	"errors"
	"math"
	"sync"
	"time"
)

// errStalled is the cause of a request's end when it made too little progress.
var errStalled = errors.New("too little progress")

// The least pace, in bytes a second, of a body that is sent and of a content that is received,
// and that of any other answer: those have a deadline, which only a long listing moves.
const (
	bodyPace   = 1 << 10
	answerPace = 64 << 10
)

// watchdog calls expire when the service has used up the time that it has. Each byte gives it the
// time back that the byte takes at the least pace, up to the limit: who keeps the pace is never
// cut, who stops is cut after the limit, and a byte now and then does not help. Time passes while
// the watchdog is armed, and not while a caller keeps a body waiting.
type watchdog struct {
	limit time.Duration

	mu    sync.Mutex
	timer *time.Timer // +checklocks:mu
	// left is what there was at since.
	left  time.Duration // +checklocks:mu
	since time.Time     // +checklocks:mu
	armed bool          // +checklocks:mu
}

// newWatchdog returns an armed watchdog.
func newWatchdog(limit time.Duration, expire func()) *watchdog {
	return &watchdog{limit: limit, left: limit, timer: time.AfterFunc(limit, expire), since: time.Now(), armed: true}
}

// arm lets time pass.
func (w *watchdog) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.armed {
		w.armed, w.since = true, time.Now()
		w.timer.Reset(w.left)
	}
}

// earn gives the service the time back that n bytes take at a pace.
func (w *watchdog) earn(n, pace int) {
	w.add(time.Duration(min(n, math.MaxInt32)) * time.Second / time.Duration(pace))
}

// renew gives the service all its time back.
func (w *watchdog) renew() { w.add(w.limit) }

func (w *watchdog) add(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.countLocked()
	w.left = min(max(w.left, 0)+d, w.limit)
	if w.armed {
		w.timer.Reset(w.left)
	}
}

// rest stops the time.
func (w *watchdog) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.countLocked()
	w.armed = false
	w.timer.Stop()
}

// countLocked takes the time that has passed from what is left.
// +checklocks:w.mu
func (w *watchdog) countLocked() {
	if w.armed {
		now := time.Now()
		w.left -= now.Sub(w.since)
		w.since = now
	}
}
