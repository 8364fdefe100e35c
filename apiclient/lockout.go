package apiclient

import (
	"fmt"
	"sync"
	"time"

	"github.com/archivefs/archivefs/internal/retry"
)

// Refused credentials: after refusalsAllowed answers 401 in a row nothing is sent for
// firstPause, twice as long after each further refusal, up to longestPause.
const (
	refusalsAllowed = 5
	firstPause      = 30 * time.Second
	longestPause    = 10 * time.Minute
)

// lockout is a circuit breaker that refused credentials trip, so that no account is locked.
// After each pause one request goes through as a probe. Its zero value lets requests through.
type lockout struct {
	mu       sync.Mutex
	refusals int           // in a row; guarded by mu
	pauses   int           // in a row; guarded by mu
	breaker  retry.Breaker // guarded by mu
}

// enter reports whether a request may be sent now. A request that entered hands probe
// to leave when it ends.
func (l *lockout) enter() (probe bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.breaker.Tripped() {
		return false, nil
	}
	now := time.Now()
	if !l.breaker.Probe(now) {
		return false, fmt.Errorf("not sent: the service refused the credentials %d times in a row, so requests pause "+
			"for another %s lest the account be locked", l.refusals, max(l.breaker.Until().Sub(now), 0).Round(time.Second))
	}
	return true, nil
}

// leave notes how a request ended. Success ends the row of refusals; an answer that
// says nothing about the credentials neither ends nor extends it.
func (l *lockout) leave(probe, refused, succeeded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if probe {
		l.breaker.ProbeEnded()
	}
	switch now := time.Now(); {
	case succeeded:
		l.resetLocked()
	case refused:
		l.refusals++
		if l.refusals < refusalsAllowed || l.breaker.State(now) == retry.Open {
			return
		}
		l.pauses++
		l.breaker.Trip(now.Add(retry.Backoff{First: firstPause, Longest: longestPause}.After(l.pauses)))
	}
}

// reset lets requests through again: the next ones carry other credentials.
func (l *lockout) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resetLocked()
}

func (l *lockout) resetLocked() {
	l.refusals, l.pauses = 0, 0
	l.breaker.Close()
}
