package server

import (
	"context"
	"sync/atomic"
	"time"
)

// activity tells work that can wait when nothing else is done.
type activity struct {
	running atomic.Int64
	made    time.Time
	last    atomic.Int64  // when something began or ended, in nanoseconds since made, whatever became of the clock
	changed chan struct{} // of one place: something was changed since it was taken
}

func newActivity() *activity { return &activity{made: time.Now(), changed: make(chan struct{}, 1)} }

// begin tells that something is done, until the returned function is called.
func (a *activity) begin() (end func()) {
	a.running.Add(1)
	a.last.Store(int64(time.Since(a.made)))
	return func() {
		a.last.Store(int64(time.Since(a.made)))
		a.running.Add(-1)
	}
}

// change tells that something was changed.
func (a *activity) change() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// quiet waits until nothing was done for some time, or too much was for too long. The error is
// that of ctx.
func (a *activity) quiet(ctx context.Context, enough, atMost time.Duration) error {
	for ends := time.Now().Add(atMost); time.Now().Before(ends); {
		rest := enough
		if a.running.Load() == 0 {
			if rest -= time.Since(a.made) - time.Duration(a.last.Load()); rest <= 0 {
				break
			}
		}
		if err := pause(ctx, rest); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// pause waits, or returns the error of the context that ended before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// background is what goes on beside the requests.
type background struct {
	stops []func() // only who opens the archive adds to them
}

// inBackground does some work until stop, or until all is stopped; both wait for the piece
// that is under way. It goes on when ctx is done.
func (b *background) inBackground(ctx context.Context, work func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	b.stops = append(b.stops, stop)
	return stop
}

func (b *background) stopBackground() {
	for _, stop := range b.stops {
		stop()
	}
}
