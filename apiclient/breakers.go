package apiclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
)

const (
	// probeEvery is how long after a probe that found no service the next may begin.
	probeEvery = 2 * time.Second
	// probePatience is how long after its begin a request waits for a probe to succeed.
	probePatience = time.Second
)

// circuit is the client's circuit breaker: it spares calls the wait for a service that just did
// not answer another one. It trips when a call ends without a connection, or, while nothing else
// was answered either, without progress or with 503 after all its repetitions: a document that
// hangs does not trip it. From then on calls fail at once. Once the breaker is half-open the
// next call begins a probe: one at a time, every two seconds at most, and no sooner than a probe
// was asked to come back. A probe may last as long as any request; calls wait for it only a
// second. Any answer but 503 closes the breaker.
type circuit struct {
	ask    func(context.Context) error // sends a probe; answered notes what comes
	alive  context.Context             // until close; of the probes alone
	die    context.CancelFunc
	probes sync.WaitGroup

	mu      sync.Mutex
	breaker retry.Breaker // +checklocks:mu
	// cause is why it tripped.
	cause error // +checklocks:mu
	// kind is that of calls that fail meanwhile.
	kind archive.Kind // +checklocks:mu
	// since is when it tripped.
	since time.Time // +checklocks:mu
	// heard is when a request was answered last, by another status than 503.
	heard time.Time // +checklocks:mu
	// probe is under way, or nil.
	probe *probe // +checklocks:mu
}

func newCircuit(ask func(context.Context) error) *circuit {
	alive, die := context.WithCancel(context.Background())
	return &circuit{ask: ask, alive: alive, die: die}
}

// probe is a request that finds out whether the service is back.
type probe struct {
	began time.Time
	done  chan struct{} // closed at its end
}

// wait returns when the probe has ended, or has lasted for probePatience. Its error is
// ctx's.
func (p *probe) wait(ctx context.Context) error {
	timer := time.NewTimer(time.Until(p.began.Add(probePatience)))
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// pass returns nil when a call may be sent. It may be the one that begins a probe.
func (b *circuit) pass(ctx context.Context, op Operation) error {
	b.mu.Lock()
	if !b.breaker.Tripped() {
		b.mu.Unlock()
		return nil
	}
	if b.alive.Err() == nil && b.breaker.Probe(time.Now()) {
		b.probe = &probe{began: time.Now(), done: make(chan struct{})}
		b.probes.Go(b.run)
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
	return &archive.Error{Op: string(op), Kind: b.kind, Unsent: true, Err: fmt.Errorf(
		"not sent, because the service is away since %s: %w", b.since.Format(time.TimeOnly), b.cause)}
}

// run sends a probe and notes its outcome.
func (b *circuit) run() {
	err := b.ask(b.alive)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.breaker.Tripped() {
		pause := probeEvery
		var e *archive.Error
		if errors.As(err, &e) && e.Status == http.StatusServiceUnavailable {
			b.cause, b.kind = err, e.Kind
			pause = max(pause, min(e.RetryAfter, retry.MaxRetryAfter))
		}
		b.breaker.Trip(time.Now().Add(pause))
	}
	b.breaker.ProbeEnded()
	close(b.probe.done)
	b.probe = nil
}

// answered notes an answer, and reports whether that closed the breaker. 503 does not: a
// service says so that lacks its database, and a proxy that lacks its service.
func (b *circuit) answered(status int) bool {
	if status == http.StatusServiceUnavailable {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard = time.Now()
	return b.breaker.Close()
}

// failed notes the error of a call that began at that time and has failed for good. It
// reports whether that tripped the breaker and is to be logged: of a service that has never
// answered it is not, because the error says it to whoever asked. 503 trips it only where the
// call was repeated for as long as it may be. It may still be about that call alone, so that
// the breaker is half-open at once.
func (b *circuit) failed(began time.Time, err error, policy repetition) bool {
	var e *archive.Error
	if !errors.As(err, &e) {
		return false
	}
	kind, cause, pause := archive.KindUnreachable, cmp.Or(e.Err, err), probeEvery
	switch {
	case e.Kind == archive.KindUnreachable, e.Kind == archive.KindTimeout:
	case e.Status == http.StatusServiceUnavailable && policy.allows(e):
		kind, cause, pause = e.Kind, err, 0
	default:
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.breaker.Tripped() || b.heard.After(began) {
		return false
	}
	b.cause, b.kind, b.since = cause, kind, time.Now()
	b.breaker.Trip(b.since.Add(pause))
	return !b.heard.IsZero()
}

// close ends the probe under way and lets no other begin.
func (b *circuit) close() {
	b.mu.Lock()
	b.die()
	b.mu.Unlock()
	b.probes.Wait()
}

// contents is a circuit breaker for contents alone: a service can lack what it keeps them in, as
// a bucket, while it answers all else. It trips when a request for a content is answered 503 to
// its last repetition, and is half-open from then on: each request for a content is sent, so
// that none is missed that can be had, but no 503 to it repeated, so that who reads many
// documents waits once. The first content that is had closes it. Its zero value is closed.
type contents struct{ tripped atomic.Bool }

// hopeless reports whether a request need not be repeated after err.
func (c *contents) hopeless(op Operation, err error) bool {
	return c.tripped.Load() && unavailable(op, err)
}

// missed notes the error of a call that has failed for good, and reports whether that tripped
// the breaker.
func (c *contents) missed(op Operation, err error) bool {
	return unavailable(op, err) && !c.tripped.Swap(true)
}

// had notes an answer that was accepted, and reports whether that closed the breaker.
func (c *contents) had(op Operation) bool { return op.ofContent() && c.tripped.Swap(false) }

// unavailable reports whether a content was asked for, and answered 503.
func unavailable(op Operation, err error) bool {
	var e *archive.Error
	return op.ofContent() && errors.As(err, &e) && e.Status == http.StatusServiceUnavailable
}

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
	mu sync.Mutex
	// refusals and pauses are those in a row.
	refusals int           // +checklocks:mu
	pauses   int           // +checklocks:mu
	breaker  retry.Breaker // +checklocks:mu
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

// +checklocks:l.mu
func (l *lockout) resetLocked() {
	l.refusals, l.pauses = 0, 0
	l.breaker.Close()
}
