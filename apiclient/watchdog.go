package apiclient

import (
	"errors"
	"sync"
	"time"
)

// errStalled is the cause of a request's end when it made no progress.
var errStalled = errors.New("no progress")

// watchdog calls expire when it is armed and not touched for limit. It is armed while
// the service has to do something, and rests while a caller keeps a body waiting.
type watchdog struct {
	limit time.Duration

	mu    sync.Mutex
	timer *time.Timer // guarded by mu
	armed bool        // guarded by mu
}

// newWatchdog returns an armed watchdog.
func newWatchdog(limit time.Duration, expire func()) *watchdog {
	return &watchdog{limit: limit, timer: time.AfterFunc(limit, expire), armed: true}
}

// arm starts the time anew.
func (w *watchdog) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = true
	w.timer.Reset(w.limit)
}

// touch notes progress; it does not wake a resting watchdog.
func (w *watchdog) touch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.armed {
		w.timer.Reset(w.limit)
	}
}

// rest stops the time.
func (w *watchdog) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = false
	w.timer.Stop()
}
