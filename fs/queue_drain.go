package fs

import (
	"context"
	"errors"
	"slices"
	"time"
)

// errAway says that draining the queue was given up because the service is away.
var errAway = errors.New("the service does not answer")

// drain returns when every upload that can be tried was archived or refused, or was tried
// once more and the service could not take it (errAway), or ctx is done. What may still arrive
// at a service that answers is tried again and again.
func (q *queue) drain(ctx context.Context) error {
	q.mu.Lock()
	began := q.now()
	q.breaker.Hasten()
	for _, j := range q.jobs {
		j.tries, j.due = 0, time.Time{}
	}
	q.startLocked()
	for {
		if q.active == 0 {
			left := slices.ContainsFunc(q.jobs, func(j *job) bool { return q.ready(j.up) && (j.late || j.tried.Before(began)) })
			if !left || q.breaker.Tripped() {
				defer q.mu.Unlock()
				if len(q.jobs) > 0 {
					return errAway
				}
				return nil
			}
		}
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		q.mu.Lock()
	}
}

// end tries nothing any more and returns when what is under way has ended, or ctx is done.
func (q *queue) end(ctx context.Context) error {
	q.stop()
	q.mu.Lock()
	q.stopped = true
	if q.timer != nil {
		q.timer.Stop()
	}
	for q.active > 0 {
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		q.mu.Lock()
	}
	q.mu.Unlock()
	return nil
}
