package apiclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
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

// outage spares requests the wait for a service that just did not answer another one. It
// begins when a call ends without a connection, or, while nothing else was answered either,
// without progress or with 503 after all its repetitions: a document that hangs is no outage.
// From then on calls fail at once, but for one probe at a time that the first of them begins,
// every two seconds at most, and no sooner than a probe was asked to come back. The probe may
// last as long as any request; calls wait for it only a second. Its zero value lets calls
// through.
type outage struct {
	mu    sync.Mutex
	cause error        // why the service counts as away, nil when it does not; guarded by mu
	kind  archive.Kind // of calls that fail because of cause; guarded by mu
	since time.Time    // of cause; guarded by mu
	heard time.Time    // when a request was answered last, by another status than 503; guarded by mu
	next  time.Time    // no probe begins before; guarded by mu
	probe *probe       // under way, or nil; guarded by mu
}

// probe is a request that finds out whether the service is back.
type probe struct {
	began time.Time
	done  chan struct{} // closed at its end
}

// pass returns nil when a call may be sent. It may be the one that begins a probe.
func (c *Client) pass(ctx context.Context, op Operation) error {
	o := &c.outage
	o.mu.Lock()
	if o.cause == nil {
		o.mu.Unlock()
		return nil
	}
	if o.probe == nil && !time.Now().Before(o.next) && c.alive.Err() == nil {
		o.probe = &probe{began: time.Now(), done: make(chan struct{})}
		c.probes.Go(c.probeService)
	}
	p := o.probe
	o.mu.Unlock()
	if p != nil {
		if err := p.wait(ctx); err != nil {
			return ended(ctx, op, nil)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cause == nil {
		return nil
	}
	return &archive.Error{Op: string(op), Kind: o.kind, Unsent: true, Err: fmt.Errorf(
		"not sent, because the service is away since %s: %w", o.since.Format(time.TimeOnly), o.cause)}
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

// probeService asks for the top of the archive, on a new connection. Whatever is answered
// but 503, the service is back, which send has noted.
func (c *Client) probeService() {
	c.http.CloseIdleConnections()
	r := get(OpStructure, "/archivestructure", url.Values{"lazy": {"true"}})
	err := c.once(c.alive, r, func(resp *http.Response) error {
		discard(resp.Body)
		return nil
	})
	if err != nil {
		c.log.WithError(err).Debug("probe of the service")
	}
	o := &c.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	pause := probeEvery
	var e *archive.Error
	if errors.As(err, &e) && e.Status == http.StatusServiceUnavailable && o.cause != nil {
		o.cause, o.kind = err, e.Kind
		pause = max(pause, min(e.RetryAfter, retry.MaxRetryAfter))
	}
	o.next = time.Now().Add(pause)
	close(o.probe.done)
	o.probe = nil
}

// answered notes an answer, and reports whether that ended an outage. 503 ends none: a service
// says so that lacks its database, and a proxy that lacks its service.
func (o *outage) answered(status int) bool {
	if status == http.StatusServiceUnavailable {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	ended := o.cause != nil
	o.heard, o.cause = time.Now(), nil
	return ended
}

// begin notes the error of a call that began at that time and has failed for good. It
// reports whether that is the begin of an outage that is to be logged: one of a service that has
// never answered is not, because the error says it to whoever asked. 503 begins an outage only
// where the call was repeated for as long as it may be; it may still be about that call alone, so
// that the next one begins a probe.
func (o *outage) begin(began time.Time, err error, policy repetition) bool {
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
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cause != nil || o.heard.After(began) {
		return false
	}
	o.cause, o.kind, o.since, o.next = cause, kind, time.Now(), time.Now().Add(pause)
	return !o.heard.IsZero()
}
