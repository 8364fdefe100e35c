// Package turns bounds how many do something at a time, and keeps one of them from taking the places of all others.
package turns

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Party is who has places: an API key, and the user that it is shown with.
type Party struct {
	Key  int64
	User string
}

// Nobody is for whom the program works by itself.
var Nobody = Party{Key: -1}

// Places bounds how many do something at a time. However slow somebody is, others come in as well:
// who has many gets another one only while many are free. With a portion of 3 one party has three
// quarters of all at most, and another one three quarters of those that are left: it takes four of
// them, who give none back, to hold 64 places.
type Places struct {
	all     int
	Portion int // how many times the free places somebody may have who takes one more
	Line    int // how many of one party wait at most; 0 is any number

	mu    sync.Mutex
	held  map[Party]int // +checklocks:mu
	taken int           // +checklocks:mu
	// queue has who waits, the first first.
	queue []*waiter // +checklocks:mu
}

// waiter waits for a place until come is closed.
type waiter struct {
	who  Party
	come chan struct{}
}

// New returns so many places.
func New(n int) *Places { return &Places{all: n, Portion: 3, held: map[Party]int{}} }

// Count returns how many places are taken, and how many wait for one.
func (p *Places) Count() (taken, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken, len(p.queue)
}

// Take waits for a place. It reports false when there was none in time, too many of the party wait, or ctx
// ended.
func (p *Places) Take(ctx context.Context, who Party, patience time.Duration) bool {
	p.mu.Lock()
	if p.takeLocked(who) {
		p.mu.Unlock()
		return true
	}
	if p.Line > 0 && p.waitingLocked(who) >= p.Line {
		p.mu.Unlock()
		return false
	}
	w := &waiter{who, make(chan struct{})}
	p.queue = append(p.queue, w)
	p.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-w.come:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.Index(p.queue, w)
	if at < 0 { // it came just now
		return true
	}
	p.queue = slices.Delete(p.queue, at, at+1)
	return false
}

// +checklocks:p.mu
func (p *Places) waitingLocked(who Party) (n int) {
	for _, w := range p.queue {
		if w.who == who {
			n++
		}
	}
	return n
}

// +checklocks:p.mu
func (p *Places) takeLocked(who Party) bool {
	if p.held[who] >= p.Portion*(p.all-p.taken) {
		return false
	}
	p.held[who]++
	p.taken++
	return true
}

// Leave gives a place to those who have waited longest among those who may have it.
func (p *Places) Leave(who Party) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.held[who]--; p.held[who] == 0 {
		delete(p.held, who)
	}
	var queue []*waiter
	for _, w := range p.queue {
		if p.takeLocked(w.who) {
			close(w.come)
		} else {
			queue = append(queue, w)
		}
	}
	p.queue = queue
}
