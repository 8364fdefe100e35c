package spool

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
)

// Policy says how long a delivery goes on.
type Policy struct {
	// RetryFor bounds looking and repeating after the first end in doubt. A service that
	// asks to wait (Retry-After) extends it by up to retry.MaxRetryAfter altogether.
	RetryFor time.Duration
	// Attempts bounds how often the bytes are sent, at least once.
	Attempts int
	// Queue keeps an upload that the service cannot take now in the queue: it stays committed, or sending when it may
	// have arrived, instead of failed. A Retry-After is left to the owner of the queue then.
	Queue bool
}

const (
	foregroundAttempts = 4
	firstWait          = 200 * time.Millisecond // doubled up to longestWait
	longestWait        = 5 * time.Second
	longestLook        = 30 * time.Second
	mostAsked          = 5 // times for what else came of an e-mail, after the first
)

// patience is what is left of a policy in one delivery.
type patience struct {
	policy Policy
	now    func() time.Time
	sleep  func(context.Context, time.Duration) error
	budget *retry.Budget // nil until the first end in doubt
	pauses int           // so far
}

// start begins the budget, the first time it is called.
func (p *patience) start() {
	if p.budget == nil {
		p.budget = retry.NewBudget(p.now(), p.policy.RetryFor)
	}
}

// restart has the next look begin another budget.
func (p *patience) restart() { p.budget, p.pauses = nil, 0 }

// LookFor is how long a caller that repeats for retryFor looks for a document before it counts
// as absent: a folder may list it late.
func LookFor(retryFor time.Duration) time.Duration { return min(retryFor/2, longestLook) }

// next is how long the next pause is.
func (p *patience) next() time.Duration {
	return retry.Backoff{First: firstWait, Longest: longestWait}.After(p.pauses + 1)
}

// pause waits, longer each time but at most for most, where that is above 0. It is false when ctx is done.
func (p *patience) pause(ctx context.Context, most time.Duration) bool {
	d := p.next()
	p.pauses++
	if most > 0 {
		d = min(d, most)
	}
	return p.sleep(ctx, d) == nil
}

// obey waits before the service is asked again after err, its answer at that time, as long as
// it asked for. It is false when there is no time left for that, or ctx is done.
func (p *patience) obey(ctx context.Context, err error, at time.Time) bool {
	asked := archive.RetryAfter(err)
	switch {
	case asked == 0:
		return p.next() <= p.budget.Left(p.now()) && p.pause(ctx, longestWait)
	case p.policy.Queue, p.budget.Left(at) < 0, !p.budget.Grant(asked):
		p.budget.Spend()
		return false
	}
	return p.sleep(ctx, max(asked-p.now().Sub(at), firstWait)) == nil
}

// mayRepeat reports whether the bytes may be sent once more after sent times.
func (p *patience) mayRepeat(ctx context.Context, sent int) bool {
	return ctx.Err() == nil && sent < p.policy.Attempts && p.budget.Left(p.now()) > 0
}
