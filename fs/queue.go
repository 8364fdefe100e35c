package fs

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

const (
	// uploadsAtOnce is how many uploads the queue sends at the same time.
	uploadsAtOnce = 4
	// firstPause is how long an upload waits after its first attempt that the service could
	// not take; it doubles up to longestPause.
	firstPause   = time.Second
	longestPause = 5 * time.Minute
)

// errAway says that draining the queue was given up because the service is away.
var errAway = errors.New("the service does not answer")

// queue delivers in the background what was accepted before the archive had it: several
// uploads at a time, each again and again until it is archived or refused. While the
// service is away only one is tried at a time; the first that gets through brings all of
// them back.
type queue struct {
	// attempt tries an upload once; wait says that it is worth another attempt, later.
	attempt func(ctx context.Context, up *spool.Upload) (wait bool, err error)
	// ready reports whether an upload can be tried at all: its folder is there.
	ready func(up *spool.Upload) bool
	now   func() time.Time
	// pause is how long an upload waits after so many attempts in a row.
	pause func(tries int) time.Duration

	ctx  context.Context // of the attempts
	stop context.CancelFunc

	mu      sync.Mutex
	jobs    []*job        // in the order in which they came; guarded by mu
	active  int           // jobs being tried; guarded by mu
	losses  int           // attempts in a row that the service could not take; guarded by mu
	away    bool          // the service takes nothing from anybody; guarded by mu
	stopped bool          // nothing more is tried; guarded by mu
	timer   *time.Timer   // for the next job that is due; guarded by mu
	changed chan struct{} // closed and made anew after each attempt; guarded by mu
}

// job is an upload in the queue. Its fields are guarded by mu of the queue.
type job struct {
	up     *spool.Upload
	active bool
	tries  int       // attempts in a row that the service could not take
	tried  time.Time // when the last of them ended
	due    time.Time // not before
	again  bool      // it was added once more while it was tried
}

func newQueue(now func() time.Time) *queue {
	ctx, stop := context.WithCancel(context.Background())
	return &queue{now: now, pause: pauseAfter, ctx: ctx, stop: stop, changed: make(chan struct{})}
}

// add puts an upload into the queue, unless it is there.
func (q *queue) add(up *spool.Upload) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := q.indexLocked(up); i >= 0 {
		q.jobs[i].again = q.jobs[i].active
		q.jobs[i].due = time.Time{}
	} else {
		q.jobs = append(q.jobs, &job{up: up})
	}
	q.startLocked()
}

// wake makes every upload due at once: the service has answered.
func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.away {
		q.backLocked()
		q.startLocked()
	}
}

// startLocked tries what is due. The caller holds mu.
func (q *queue) startLocked() {
	if q.stopped {
		return
	}
	now := q.now()
	var next time.Time
	for _, j := range q.jobs {
		switch {
		case q.active >= q.limitLocked():
			return // the end of one of them starts the next
		case j.active || !q.ready(j.up):
		case j.due.After(now):
			if next.IsZero() || j.due.Before(next) {
				next = j.due
			}
		default:
			j.active = true
			q.active++
			go q.run(j)
		}
	}
	if !next.IsZero() {
		q.startAtLocked(next.Sub(now))
	}
}

func (q *queue) limitLocked() int {
	if q.away {
		return 1
	}
	return uploadsAtOnce
}

func (q *queue) startAtLocked(d time.Duration) {
	if q.timer != nil {
		q.timer.Stop()
	}
	q.timer = time.AfterFunc(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.startLocked()
	})
}

// run tries a job once and decides when it is tried again, if it is.
func (q *queue) run(j *job) {
	wait, err := q.attempt(q.ctx, j.up)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.active--
	j.active = false
	j.tried = q.now()
	if wait {
		q.losses++
		q.away = q.away || q.losses >= uploadsAtOnce || archive.KindOf(err) == archive.KindUnreachable
		j.tries++
		j.due = j.tried.Add(q.pause(j.tries))
	} else {
		q.losses = 0
		if q.away {
			q.backLocked()
		}
		if !j.again {
			i := q.indexLocked(j.up)
			q.jobs = slices.Delete(q.jobs, i, i+1)
		}
	}
	j.again = false
	close(q.changed)
	q.changed = make(chan struct{})
	q.startLocked()
}

// backLocked makes every job due: the service is back. The caller holds mu.
func (q *queue) backLocked() {
	q.away = false
	for _, j := range q.jobs {
		j.tries, j.due = 0, time.Time{}
	}
}

// pauseAfter is how long an upload waits after so many attempts in a row.
func pauseAfter(tries int) time.Duration {
	d := longestPause
	if shift := tries - 1; shift < 10 {
		d = min(d, firstPause<<shift)
	}
	return d - time.Duration(rand.Int64N(int64(d)/4+1)) //nolint:gosec // to spread requests
}

// indexLocked is where an upload stands in the queue, -1 when it does not. The caller
// holds mu.
func (q *queue) indexLocked(up *spool.Upload) int {
	return slices.IndexFunc(q.jobs, func(j *job) bool { return j.up == up })
}

// drain returns when every upload that can be tried was archived or refused, or was tried
// once more and the service could not take it (errAway), or ctx is done.
func (q *queue) drain(ctx context.Context) error {
	q.mu.Lock()
	began := q.now()
	for _, j := range q.jobs {
		j.due = time.Time{}
	}
	q.startLocked()
	for {
		if q.active == 0 {
			left := slices.ContainsFunc(q.jobs, func(j *job) bool { return q.ready(j.up) && j.tried.Before(began) })
			if !left || q.away {
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
