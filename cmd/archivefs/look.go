package main

import "time"

// look examines from time to time whether the program answers, for who ends one that does not.
type look struct {
	ask    func() error
	due    <-chan time.Time // never, where nobody waits for it
	answer chan error       // of the look that was begun
	busy   bool
	end    func()
}

// newLook looks often enough for somebody who waits so long for an answer; 0: nobody waits.
func newLook(ask func() error, patience time.Duration) *look {
	l := &look{ask: ask, answer: make(chan error, 1), end: func() {}}
	if patience > 0 {
		tick := time.NewTicker(patience / 3)
		l.due, l.end = tick.C, tick.Stop
	}
	return l
}

// begin begins to look, unless the last look has not ended.
func (l *look) begin() {
	if l.busy {
		return
	}
	l.busy = true
	go func() { l.answer <- l.ask() }()
}
