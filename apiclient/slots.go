package apiclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
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

const (
	// probeEvery is the shortest time from a failed probe to the next one.
	probeEvery = 2 * time.Second
	// probePatience is how long after the start of a probe calls wait for it.
	probePatience = time.Second
)

// circuit is the client's circuit breaker: when the service does not answer one call, others need not wait to learn the
// same. It opens when a call fails without a connection. It also opens when a call times out, or is answered 503 to its
// last repetition, and no other call was answered in the meantime: one document that hangs does not open it. While the
// breaker is open, calls fail at once. When it is half-open the next call starts a probe: one at a time, every two
// seconds at most, and not before the time of a Retry-After. A probe may take as long as any request, but calls wait
// for it only a second. An answer of the service closes the breaker (heard).
type circuit struct {
	send   func(context.Context) error // sends a probe; answered is told of its answer
	alive  context.Context             // of the probes; ends with close
	die    context.CancelFunc
	probes sync.WaitGroup

	mu      sync.Mutex
	breaker retry.Breaker // +checklocks:mu
	// cause is why it opened.
	cause error // +checklocks:mu
	// proxy is archive.Error.Proxy of it, unless the cause names that.
	proxy string // +checklocks:mu
	// kind is the kind of error of calls while it is open.
	kind archive.Kind // +checklocks:mu
	// since is when it opened; zero while it is only doubted that the service answers.
	since time.Time // +checklocks:mu
	// heard is when the service last answered a request.
	heard time.Time // +checklocks:mu
	// probe is in flight, or nil.
	probe *probe // +checklocks:mu
}

func newCircuit(send func(context.Context) error) *circuit {
	alive, die := context.WithCancel(context.Background())
	return &circuit{send: send, alive: alive, die: die}
}

// errUnheard is why calls are not sent before the first answer of a service that is in doubt.
var errUnheard = errors.New("it has not answered yet")

// doubt makes the breaker half-open before the first call.
func (b *circuit) doubt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cause, b.kind, b.proxy = errUnheard, archive.KindUnreachable, ""
	b.breaker.Trip(time.Time{})
}

// probe is a request that finds out whether the service is back.
type probe struct {
	began time.Time
	done  chan struct{} // closed at its end
	end   context.CancelFunc
}

// wait returns when the probe has ended, probePatience after its start, or with ctx's error.
func (p *probe) wait(ctx context.Context) error {
	select {
	case <-p.done:
	case <-time.After(time.Until(p.began.Add(probePatience))):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// pass returns nil when a call may be sent. It starts a probe if one is due.
func (b *circuit) pass(ctx context.Context, op Operation) error { //nolint:contextcheck // a probe outlives the call
	b.mu.Lock()
	if !b.breaker.Tripped() {
		b.mu.Unlock()
		return nil
	}
	if b.alive.Err() == nil && b.breaker.Probe(time.Now()) {
		ctx, end := context.WithCancel(b.alive)
		b.probe = &probe{began: time.Now(), done: make(chan struct{}), end: end}
		b.probes.Go(func() { b.run(ctx) })
	}
	p := b.probe
	b.mu.Unlock()
	if p != nil {
		if err := p.wait(ctx); err != nil {
			return ended(ctx, op, nil)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.breaker.Tripped() {
		return nil
	}
	if b.since.IsZero() {
		b.since = time.Now()
	}
	return &archive.Error{Op: op.doing, Kind: b.kind, Proxy: b.proxy, Unsent: true, Err: fmt.Errorf(
		"not sent, because the service is away since %s: %w", b.since.Format(time.TimeOnly), b.cause)}
}

func (b *circuit) run(ctx context.Context) {
	err := b.send(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.breaker.Tripped() {
		pause := probeEvery
		var e *archive.Error
		switch {
		case !errors.As(err, &e):
		case e.Status == http.StatusServiceUnavailable:
			b.cause, b.kind, b.proxy = err, e.Kind, ""
			pause = max(pause, min(e.RetryAfter, retry.MaxRetryAfter))
		case e.Kind == archive.KindForeign:
			b.cause, b.kind, b.proxy = err, archive.KindUnreachable, ""
		case e.Kind == archive.KindUnreachable, e.Kind == archive.KindTimeout:
			b.cause, b.kind, b.proxy = cmp.Or(e.Err, err), archive.KindUnreachable, e.Proxy
		}
		b.breaker.Trip(time.Now().Add(pause))
	}
	b.breaker.ProbeEnded()
	b.probe.end()
	close(b.probe.done)
	b.probe = nil
}

// answered records an answer of the service, and reports whether that closed a breaker that calls had found open.
func (b *circuit) answered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard = time.Now()
	return b.breaker.Close() && !b.since.IsZero()
}

// failed records the error of a call that is not repeated any more. It reports whether the breaker opened and that is
// to be logged: not for a service that has never answered, because the caller gets the error. 503, or an answer of
// something in between, opens the breaker only if the call may be repeated; it may be about that call alone, as a content
// that takes too long, so the breaker is half-open at once. A web page in place of a content says nothing: a document can be one.
func (b *circuit) failed(began time.Time, err error, r *request) bool {
	var e *archive.Error
	if !errors.As(err, &e) {
		return false
	}
	kind, cause, proxy, pause := archive.KindUnreachable, cmp.Or(e.Err, err), e.Proxy, probeEvery
	switch {
	case e.Kind == archive.KindTimeout && r.op.is(returnsContent): // perhaps it takes long for this one alone
		pause = 0
	case e.Kind == archive.KindUnreachable, e.Kind == archive.KindTimeout:
	case r.repeat != harmless, errors.Is(err, errWebPage) && r.op.is(returnsContent):
		return false
	case e.Status == http.StatusServiceUnavailable:
		kind, cause, proxy, pause = e.Kind, err, "", 0
	case e.Kind == archive.KindForeign:
		cause, proxy, pause = err, "", 0
	default:
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.breaker.Tripped() || b.heard.After(began) {
		return false
	}
	b.cause, b.kind, b.proxy, b.since = cause, kind, proxy, time.Now()
	b.breaker.Trip(b.since.Add(pause))
	return !b.heard.IsZero()
}

// hasten makes an open breaker half-open at once, and ends a running probe, whose connection may be
// lost, so that the next call starts another one.
func (b *circuit) hasten() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.probe; p != nil {
		p.end()
		b.mu.Unlock()
		<-p.done
		b.mu.Lock()
	}
	if b.breaker.Tripped() {
		b.breaker.Hasten()
	}
}

// close ends a running probe and prevents others.
func (b *circuit) close() {
	b.mu.Lock()
	b.die()
	b.mu.Unlock()
	b.probes.Wait()
}

// contents is a circuit breaker for contents: a service can lose its content storage, such as a bucket, and still
// answer everything else. It opens when a request for a content is answered 503 to its last repetition, and is
// half-open from then on: requests for contents are sent, because some may succeed, but not repeated after a 503, so
// that a program that reads many documents waits once. The first success closes it. Its zero value is closed.
type contents struct{ tripped atomic.Bool }

// hopeless reports whether a request need not be repeated after err.
func (c *contents) hopeless(op Operation, err error) bool {
	return c.tripped.Load() && unavailable(op, err)
}

// failed records the error of a call that is not repeated any more, and reports whether that opened the breaker.
func (c *contents) failed(op Operation, err error) bool {
	return unavailable(op, err) && !c.tripped.Swap(true)
}

// succeeded records an accepted answer, and reports whether that closed the breaker.
func (c *contents) succeeded(op Operation) bool { return op.is(stored) && c.tripped.Swap(false) }

// unavailable reports whether err is a 503, or the answer of a proxy that does not reach the service, to
// a request for a content.
func unavailable(op Operation, err error) bool {
	return op.is(stored) && statusOf(err)/100 == 5 && !heard(err)
}

// After refusalsAllowed answers 401 in a row nothing is sent for firstPause; each further refusal
// doubles the pause, up to longestPause.
const (
	refusalsAllowed = 5
	firstPause      = 30 * time.Second
	longestPause    = 10 * time.Minute
)

// lockout is a circuit breaker that opens when the service refuses the credentials, so that it does not lock the
// account. After each pause one request is sent as a probe. Its zero value is closed.
type lockout struct {
	mu sync.Mutex
	// refusals and pauses count those in a row.
	refusals int           // +checklocks:mu
	pauses   int           // +checklocks:mu
	breaker  retry.Breaker // +checklocks:mu
}

// enter returns an error if no request may be sent now. Otherwise the request passes probe to leave when it ends.
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

// leave records how a request ended. Success resets the count of refusals; any other answer but a
// refusal leaves it unchanged.
func (l *lockout) leave(probe, refused, succeeded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if probe {
		l.breaker.ProbeEnded()
	}
	switch now := time.Now(); {
	case succeeded:
		l.refusals, l.pauses = 0, 0
		l.breaker.Close()
	case refused:
		l.refusals++
		if l.refusals < refusalsAllowed || l.breaker.State(now) == retry.Open {
			return
		}
		l.pauses++
		l.breaker.Trip(now.Add(retry.Backoff{First: firstPause, Longest: longestPause}.After(l.pauses)))
	}
}

// refused reports whether the last answer that said anything about the credentials refused them.
func (l *lockout) refused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refusals > 0
}
