package spool

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Policy says how long a delivery goes on.
type Policy struct {
	// RetryFor bounds looking and repeating after the first end in doubt. A service that
	// asks to wait (Retry-After) extends it by up to 30 s altogether.
	RetryFor time.Duration
	// Attempts bounds how often the bytes are sent, at least once.
	Attempts int
	// Queue keeps an upload that the service cannot take now in the queue: it stays
	// committed, or sending when it may have arrived, instead of failed. Nothing that the service
	// asks to wait is waited for then: whoever has the queue does.
	Queue bool
}

const (
	foregroundAttempts = 4
	longestAsked       = 30 * time.Second // of Retry-After, in one delivery
	firstWait          = 200 * time.Millisecond
	longestWait        = 5 * time.Second
	longestSettling    = 30 * time.Second
)

// patience is what is left of a policy in one delivery.
type patience struct {
	policy   Policy
	now      func() time.Time
	sleep    func(context.Context, time.Duration) error
	deadline time.Time // zero until the first end in doubt
	next     time.Duration
	asked    time.Duration
}

// start sets the deadline, the first time it is called.
func (p *patience) start() {
	if p.deadline.IsZero() {
		p.deadline = p.now().Add(p.policy.RetryFor)
		p.next = firstWait
	}
}

// settling is how long to look for a document before it is taken as absent.
func (p *patience) settling() time.Duration { return min(p.policy.RetryFor/2, longestSettling) }

// pause waits, longer each time but not longer than most, unless that is over. It is false
// when ctx is done.
func (p *patience) pause(ctx context.Context, most time.Duration) bool {
	d := p.next
	p.next = min(2*p.next, longestWait)
	if most > 0 {
		d = min(d, most)
	}
	return p.sleep(ctx, d) == nil
}

// obey waits before the service is asked again after err, its answer of that time, as long as
// it asked for. It is false when there is no time left for that, or ctx is done; then nothing
// is to be sent.
func (p *patience) obey(ctx context.Context, err error, at time.Time) bool {
	asked := archive.RetryAfter(err)
	switch {
	case asked == 0:
		return !p.now().Add(p.next).After(p.deadline) && p.pause(ctx, longestWait)
	case p.policy.Queue, p.asked+asked > longestAsked, at.After(p.deadline):
		p.deadline = p.now().Add(-1)
		return false
	}
	p.asked += asked
	p.deadline = p.deadline.Add(asked)
	return p.sleep(ctx, max(asked-p.now().Sub(at), firstWait)) == nil
}

// mayRepeat reports whether the bytes may be sent once more after sent times.
func (p *patience) mayRepeat(ctx context.Context, sent int) bool {
	return ctx.Err() == nil && sent < p.policy.Attempts && p.now().Before(p.deadline)
}
