package apiclient

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
)

// slots bounds the requests in flight, and shares them between people.
//
// A quarter of them, at least one, is reserved for requests without content, so that directories can
// be listed while documents hang. A single slot serves all requests.
//
// A free slot goes to whoever has the fewest requests of that kind in flight, of several to the one
// who was given the last slot longest ago: nobody waits for all that somebody else has begun to wait
// for. While several people use the client, each gets at most three quarters of the slots, so that one
// is free, or soon is, however long the requests of one of them take.
type slots struct {
	all     int // how many there are
	content int // how many of them can be for contents

	mu    sync.Mutex
	taken share // +checklocks:mu
	// queue has the waiting requests, the longest waiting first.
	queue []*slot // +checklocks:mu
	// people are those who have sent a request lately.
	people map[person]*party // +checklocks:mu
	// crowded says that there are several, apart from nobody.
	crowded bool // +checklocks:mu
	// turns counts the slots that were given.
	turns uint64 // +checklocks:mu
}

// person is on whose behalf a request is sent. All that happens on nobody's behalf, such as prefetches
// and queued uploads, is one person's, the zero value.
type person struct {
	uid  uint32
	some bool // it is on somebody's behalf
}

// party is what one person holds. Its fields are guarded by mu of the slots.
type party struct {
	held share
	turn uint64    // the last slot that was given, 0 for none
	came time.Time // when the person last asked for one
}

// share is how many slots are taken, and how many of them for contents.
type share struct{ all, content int }

func (s *share) add(n int, content bool) {
	s.all += n
	if content {
		s.content += n
	}
}

// slot is one that a request holds or waits for.
type slot struct {
	who     *party
	content bool
	free    chan struct{} // closed when the request may be sent
}

// acquainted is how long somebody who has sent a request is expected to send another.
const acquainted = time.Minute

func newSlots(n int) *slots {
	return &slots{all: n, content: max(n-max(n/4, 1), 1), people: map[person]*party{}}
}

// enter waits for a slot, or until ctx ends.
func (s *slots) enter(ctx context.Context, who person, op Operation) (*slot, error) {
	w := s.queueUp(who, op.is(bulky))
	select {
	case <-w.free:
		return w, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.queue, w); i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
	} else { // it was assigned just now
		s.leaveLocked(w)
	}
	return nil, ctx.Err()
}

// queueUp returns a slot, which may not be free yet.
func (s *slots) queueUp(who person, content bool) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &slot{who: s.meetLocked(who), content: content, free: make(chan struct{})}
	s.queue = append(s.queue, w)
	s.assignLocked()
	return w
}

func (s *slots) leave(w *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveLocked(w)
}

func (s *slots) inFlight() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken.all
}

// meetLocked returns the party of a person who wants a slot, and forgets those who have not for a while.
// +checklocks:s.mu
func (s *slots) meetLocked(who person) *party {
	p, now := s.people[who], time.Now()
	if p == nil {
		p = &party{}
		s.people[who] = p
	}
	p.came = now
	people := 0
	for other, p := range s.people {
		if p.held.all == 0 && now.Sub(p.came) > acquainted {
			delete(s.people, other)
		} else if other.some {
			people++
		}
	}
	s.crowded = people > 1
	return p
}

// assignLocked gives the free slots to waiting requests.
// +checklocks:s.mu
func (s *slots) assignLocked() {
	for s.taken.all < s.all {
		next := -1
		for i, w := range s.queue {
			if s.mayLocked(w) && (next < 0 || w.before(s.queue[next])) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := s.queue[next]
		s.queue = slices.Delete(s.queue, next, next+1)
		s.turns++
		w.who.turn = s.turns
		s.countLocked(w, 1)
		close(w.free)
	}
}

// mayLocked reports whether a request may have a slot.
// +checklocks:s.mu
func (s *slots) mayLocked(w *slot) bool {
	all, content := s.all, s.content
	if s.crowded {
		all, content = all-all/4, content-content/4
	}
	held := w.who.held
	return held.all < all && (!w.content || held.content < content && s.taken.content < s.content)
}

// before reports whether w is given a slot before v, which has waited longer.
func (w *slot) before(v *slot) bool {
	if order := cmp.Compare(w.alike(), v.alike()); order != 0 {
		return order < 0
	}
	return w.who.turn < v.who.turn
}

// alike returns how many slots for requests like w its person holds.
func (w *slot) alike() int {
	if w.content {
		return w.who.held.content
	}
	return w.who.held.all - w.who.held.content
}

// +checklocks:s.mu
func (s *slots) leaveLocked(w *slot) {
	s.countLocked(w, -1)
	s.assignLocked()
}

// countLocked adds n slots like w to those that are taken.
// +checklocks:s.mu
func (s *slots) countLocked(w *slot, n int) {
	s.taken.add(n, w.content)
	w.who.held.add(n, w.content)
}

// errPaused is why requests end, and none is sent, during a pause.
var errPaused = errors.New("the machine went to sleep, or the mount ended")

// pause keeps a client from waiting for the service. Its zero value lets it wait.
type pause struct {
	mu sync.Mutex
	// awake ends with errPaused when the pause begins; nil until it is first needed.
	awake context.Context         // +checklocks:mu
	begin context.CancelCauseFunc // +checklocks:mu
}

// until returns a context that ends when the next pause begins. During a pause it has ended.
func (p *pause) until() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wakeLocked()
	return p.awake
}

// +checklocks:p.mu
func (p *pause) wakeLocked() {
	if p.awake == nil {
		p.awake, p.begin = context.WithCancelCause(context.Background())
	}
}

// within returns ctx, which also ends when a pause begins. stop releases it.
func (p *pause) within(ctx context.Context) (bounded context.Context, stop func()) {
	bounded, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(p.until(), func() { cancel(errPaused) })
	return bounded, func() {
		release()
		cancel(nil)
	}
}

// refused returns the error of a request that is not sent because of a pause, nil if there is none.
func (p *pause) refused(op Operation) error {
	if p.until().Err() == nil {
		return nil
	}
	return &archive.Error{Op: op.doing, Kind: archive.KindUnreachable, Unsent: true, Err: errPaused}
}

// pauseLook is how often Pause looks whether requests are in flight.
const pauseLook = 10 * time.Millisecond

// Pause ends the requests in flight, after they had grace to end by themselves, and lets no further one be sent until
// Resume. Calls fail at once meanwhile, with archive.KindUnreachable if their request cannot have reached the service,
// else with archive.KindInterrupted. It returns when no request is in flight any more, or with ctx's error. The body of
// a content is in flight until its reader closes it.
func (c *Client) Pause(ctx context.Context, grace time.Duration) error {
	s := c.sender
	graceful, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	_ = s.idle(graceful) // what is in flight after that is ended
	s.pause.mu.Lock()
	s.pause.wakeLocked()
	s.pause.begin(errPaused)
	s.pause.mu.Unlock()
	return s.idle(ctx)
}

// idle returns when no request is in flight, or with ctx's error.
func (s *sender) idle(ctx context.Context) error {
	for s.slots.inFlight() > 0 {
		if err := retry.Sleep(ctx, pauseLook); err != nil {
			return err
		}
	}
	return nil
}

// Resume ends a pause. Reconnect says that connections may be lost.
func (c *Client) Resume() {
	c.sender.pause.mu.Lock()
	defer c.sender.pause.mu.Unlock()
	c.sender.pause.awake = nil
}

// Reconnect is for another network, or the same one after a sleep. Connections from an address that
// the machine does not have any more are closed, and so are idle ones: requests in flight on the
// former fail as if the service had closed them. If the service was away, the next call asks it.
func (c *Client) Reconnect() {
	c.sender.connections.closeLost()
	c.sender.http.CloseIdleConnections()
	c.sender.circuit.hasten()
}

// Sleep waits for d between two calls, or until ctx ends or a pause begins, whose error it returns.
func (c *Client) Sleep(ctx context.Context, d time.Duration) error {
	bounded, stop := c.sender.pause.within(ctx)
	defer stop()
	if err := retry.Sleep(bounded, d); err != nil {
		return context.Cause(bounded)
	}
	return nil
}
