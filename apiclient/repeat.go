package apiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
)

// Backoff between repetitions: from 100 ms, doubled up to 1 s, each time half as much more or less.
const (
	firstDelay   = 100 * time.Millisecond
	longestDelay = time.Second
)

// repeat sends r until read accepts its answer, as often as r may be sent. read closes
// the answer's body, or keeps it when it returns nil. The error is that of the last
// attempt. While the circuit breaker is open nothing is sent.
func (c *Client) repeat(ctx context.Context, r *request, read func(*http.Response) error) error {
	if err := c.pass(ctx, r.op); err != nil {
		return err
	}
	began := time.Now()
	plan := &retryPlan{policy: r.repeat, never: c.retryFor < 0, budget: retry.NewBudget(began, c.retryFor)}
	for {
		err := c.once(ctx, r, read)
		if err == nil {
			if c.contents.had(r.op) {
				c.log.Info("contents can be had again")
			}
			return nil
		}
		if archive.KindOf(err) == archive.KindTimeout {
			// An idle connection that a firewall has forgotten stalls like this; its
			// neighbours would be next.
			c.http.CloseIdleConnections()
		}
		hopeless := c.contents.hopeless(r.op, err)
		if wait, again := plan.next(err); again && !hopeless && ctx.Err() == nil {
			c.stats.retry(r.op)
			c.log.WithField("operation", string(r.op)).WithField("wait", wait).WithError(err).Debug("request failed, trying again")
			if retry.Sleep(ctx, wait) == nil {
				continue
			}
		}
		switch {
		case ctx.Err() != nil:
			return ended(ctx, r.op, err)
		case !hopeless:
			c.giveUp(r, began, err)
		}
		return err
	}
}

// giveUp notes that r, which began at that time, has failed for good.
func (c *Client) giveUp(r *request, began time.Time, err error) {
	if c.contents.missed(r.op, err) {
		c.log.WithError(err).Info("contents cannot be had; until one can, none is waited for")
	}
	if c.circuit.failed(began, err, r.repeat) {
		c.log.WithError(err).Info("the service is away; until it answers, requests fail at once")
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

// retryPlan is the schedule of one request's repetitions.
type retryPlan struct {
	policy   repetition
	never    bool // whatever the error
	budget   *retry.Budget
	failures int // after which the service did not say when to come back
	timedOut bool
}

// next is how long to wait after err before the request is sent again, if it is.
func (p *retryPlan) next(err error) (wait time.Duration, again bool) {
	var e *archive.Error
	if p.never || !errors.As(err, &e) || !p.policy.allows(e) {
		return 0, false
	}
	stalled := e.Kind == archive.KindTimeout
	if asked := e.RetryAfter; asked > 0 && !stalled {
		return asked, asked <= p.budget.Most(time.Now()) && p.budget.Grant(asked)
	}
	p.failures++
	wait = retry.Backoff{First: firstDelay, Longest: longestDelay, Less: 0.5, More: 0.5}.After(p.failures)
	if stalled { // once, whatever the limit: a stall is longer than any sensible one
		again = !p.timedOut
		p.timedOut = true
		return wait, again
	}
	return wait, wait <= p.budget.Left(time.Now())
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
