// Package turns bounds how many requests run at a time, and keeps one client from taking all places.
package turns

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Party is a client: an API key together with the user that is sent with it.
type Party struct {
	Key  int64
	User string
}

// Nobody is the party of work that no client asked for.
var Nobody = Party{Key: -1}

// Places is a fair semaphore: a slow party does not keep others out, because a party that holds many places gets
// another one only while many are free. With a Portion of 3 one party gets at most three quarters of all places, and
// the next one three quarters of the rest: it takes four parties that release nothing to occupy 64 places.
type Places struct {
	all     int
	Portion int // a party gets another place while it holds fewer than Portion times the free ones
	Line    int // how many of one party may wait; 0 is any number

	mu    sync.Mutex
	held  map[Party]int // +checklocks:mu
	taken int           // +checklocks:mu
	// queue has the waiting ones, the longest waiting first.
	queue []*waiter // +checklocks:mu
}

// waiter waits for a place until come is closed.
type waiter struct {
	who  Party
	come chan struct{}
}

// New returns n places, with a Portion of 3.
func New(n int) *Places { return &Places{all: n, Portion: 3, held: map[Party]int{}} }

// Count returns how many places are taken, and how many wait for one.
func (p *Places) Count() (taken, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken, len(p.queue)
}

// Take waits for a place. It reports false if none became free within patience, too many of the party
// are waiting, or ctx ended.
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
	select {
	case <-w.come:
		return true
	case <-time.After(patience):
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.Index(p.queue, w)
	if at < 0 { // it was assigned just now
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

// Leave releases a place. It goes to the longest waiting one whose party may have it.
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
