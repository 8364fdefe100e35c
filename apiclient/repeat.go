package apiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/archivefs/archivefs/archive"
)

// Backoff between repetitions: from 100 ms, doubled up to 1 s, each time half as much
// more or less. patience is how long a request waits in sum because Retry-After says so.
const (
	firstDelay   = 100 * time.Millisecond
	longestDelay = time.Second
	patience     = 30 * time.Second
)

// repeat sends r until read accepts its answer, as often as r may be sent. read closes
// the answer's body, or keeps it when it returns nil. The error is that of the last
// attempt. While the service is away nothing is sent.
func (c *Client) repeat(ctx context.Context, r *request, read func(*http.Response) error) error {
	if err := c.pass(ctx, r.op); err != nil {
		return err
	}
	plan := newRetryPlan(r.repeat, c.retryFor)
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		plan.last = c.once(ctx, r, read)
		if archive.KindOf(plan.last) == archive.KindTimeout {
			// An idle connection that a firewall has forgotten stalls like this; its
			// neighbours would be next.
			c.http.CloseIdleConnections()
		}
		if c.contents.hopeless(r.op, plan.last) {
			return struct{}{}, backoff.Permanent(plan.last)
		}
		return struct{}{}, plan.last
	}, backoff.WithBackOff(plan), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, wait time.Duration) {
		c.stats.retry(r.op)
		c.log.WithField("operation", string(r.op)).WithField("wait", wait).WithError(err).Debug("request failed, trying again")
	}))
	if err == nil {
		if c.contents.had(r.op) {
			c.log.Info("contents can be had again")
		}
		return nil
	}
	if ctx.Err() != nil {
		return ended(ctx, r.op, plan.last)
	}
	c.giveUp(r, plan)
	return plan.last
}

// giveUp notes that r has failed for good.
func (c *Client) giveUp(r *request, plan *retryPlan) {
	if c.contents.hopeless(r.op, plan.last) {
		return // as the one before it
	}
	if c.contents.missed(r.op, plan.last) {
		c.log.WithError(plan.last).Info("contents cannot be had; until one can, none is waited for")
	}
	if c.outage.begin(plan.started, plan.last, r.repeat) {
		c.log.WithError(plan.last).Info("the service is away; until it answers, requests fail at once")
	}
}

// once sends r once and hands the answer to read.
func (c *Client) once(ctx context.Context, r *request, read func(*http.Response) error) error {
	resp, err := c.send(ctx, r) //nolint:bodyclose // read closes it or hands it on
	if err == nil {
		err = read(resp)
	}
	if err != nil {
		c.stats.failure(r.op)
	}
	return err
}

// retryPlan is the schedule of one request's repetitions, a backoff.BackOff that looks
// at the last error. Waits that the service asked for do not count against limit.
type retryPlan struct {
	policy   repetition
	limit    time.Duration
	delays   backoff.ExponentialBackOff
	started  time.Time
	waited   time.Duration // as Retry-After said
	timedOut bool
	last     error
}

func newRetryPlan(policy repetition, limit time.Duration) *retryPlan {
	return &retryPlan{
		policy: policy, limit: limit, started: time.Now(),
		delays: backoff.ExponentialBackOff{
			InitialInterval: firstDelay, MaxInterval: longestDelay, Multiplier: 2, RandomizationFactor: 0.5,
		},
	}
}

// Reset implements backoff.BackOff.
func (p *retryPlan) Reset() { p.delays.Reset() }

// NextBackOff implements backoff.BackOff.
func (p *retryPlan) NextBackOff() time.Duration {
	var e *archive.Error
	if p.limit < 0 || !errors.As(p.last, &e) || !p.policy.allows(e) {
		return backoff.Stop
	}
	switch {
	case e.Kind == archive.KindTimeout:
		// Once, whatever the limit: a stall is longer than any sensible one.
		if p.timedOut {
			return backoff.Stop
		}
		p.timedOut = true
		return p.delays.NextBackOff()
	case e.RetryAfter > 0:
		if p.waited+e.RetryAfter > patience || time.Since(p.started)+e.RetryAfter > p.limit+patience {
			return backoff.Stop
		}
		p.waited += e.RetryAfter
		return e.RetryAfter
	}
	next := p.delays.NextBackOff()
	if time.Since(p.started)-p.waited+next > p.limit {
		return backoff.Stop
	}
	return next
}

// allows reports whether a request that failed with e may be sent again.
func (p repetition) allows(e *archive.Error) bool {
	if permanent(e) {
		return false
	}
	if p == onlyUnsent {
		return e.Kind == archive.KindUnreachable || e.Status == http.StatusTooManyRequests
	}
	switch e.Kind {
	case archive.KindBusy, archive.KindServer, archive.KindUnreachable, archive.KindInterrupted, archive.KindTimeout:
		return true
	}
	return false
}

// permanent reports whether no repetition helps: the certificate is not trusted, the host's
// name is not known, or what listens there speaks no TLS.
func permanent(err error) bool {
	var distrust *tls.CertificateVerificationError
	var name *net.DNSError
	return errors.As(err, &distrust) || errors.As(err, &name) && name.IsNotFound || errors.Is(err, http.ErrSchemeMismatch)
}
