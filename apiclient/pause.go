package apiclient

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
)

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

// Pause ends the requests in flight, after they had grace to end by themselves, and lets no further
// one be sent until Resume. Calls fail at once meanwhile, with archive.KindUnreachable if their
// request cannot have reached the service, else with archive.KindInterrupted. It returns when no
// request is in flight any more, or with ctx's error. The body of a content is in flight until its
// reader closes it.
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
