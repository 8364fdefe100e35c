package apiclient

import (
	"fmt"
	"sync"
	"time"
)

// Refused credentials: after refusalsAllowed answers 401 in a row nothing is sent for
// firstPause, twice as long after each further refusal, up to longestPause.
const (
	refusalsAllowed = 5
	firstPause      = 30 * time.Second
	longestPause    = 10 * time.Minute
)

// lockout holds requests back while the service refuses the credentials, so that no
// account is locked. After each pause one request goes through as a probe. Its zero
// value lets requests through.
type lockout struct {
	mu       sync.Mutex
	refusals int           // in a row; guarded by mu
	pause    time.Duration // the last one; guarded by mu
	until    time.Time     // end of the last pause; guarded by mu
	probing  bool          // guarded by mu
}

// enter reports whether a request may be sent now. A request that entered hands probe
// to leave when it ends.
func (l *lockout) enter() (probe bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusals < refusalsAllowed {
		return false, nil
	}
	wait := time.Until(l.until)
	if wait > 0 || l.probing {
		return false, fmt.Errorf("not sent: the service refused the credentials %d times in a row, so requests pause "+
			"for another %s lest the account be locked", l.refusals, max(wait, 0).Round(time.Second))
	}
	l.probing = true
	return true, nil
}

// leave notes how a request ended. Success ends the row of refusals; an answer that
// says nothing about the credentials neither ends nor extends it.
func (l *lockout) leave(probe, refused, succeeded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if probe {
		l.probing = false
	}
	switch {
	case succeeded:
		l.refusals, l.pause = 0, 0
	case refused:
		l.refusals++
		if l.refusals < refusalsAllowed || time.Now().Before(l.until) {
			return
		}
		l.pause = min(max(2*l.pause, firstPause), longestPause)
		l.until = time.Now().Add(l.pause)
	}
}

// reset lets requests through again: the next ones carry other credentials.
func (l *lockout) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusals, l.pause, l.until = 0, 0, time.Time{}
}
