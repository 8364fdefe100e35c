package fs

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
	"github.com/archivefs/archivefs/internal/spool"
)

// uploadsAtOnce is how many uploads the queue sends at the same time.
const uploadsAtOnce = 4

// queue delivers in the background what was accepted before the archive had it: several
// uploads at a time, each again and again until it is archived or refused. A circuit breaker
// opens when the service takes nothing from anybody: then one is tried at a time, ever more
// rarely, and the first that gets through closes it and makes all of them due.
type queue struct {
	// attempt tries an upload once; wait says that it is worth another attempt, later.
	attempt func(ctx context.Context, up *spool.Upload) (wait bool, err error)
	// ready reports whether an upload can be tried at all: its folder is there.
	ready func(up *spool.Upload) bool
	now   func() time.Time
	// pause is how long to wait after so many attempts in a row.
	pause func(tries int) time.Duration

	ctx  context.Context // of the attempts
	stop context.CancelFunc

	mu      sync.Mutex
	jobs    []*job        // in the order in which they are tried; guarded by mu
	active  int           // jobs being tried; guarded by mu
	losses  int           // attempts in a row that the service could not take; guarded by mu
	lost    archive.Kind  // why it could not take the last of them; guarded by mu
	breaker retry.Breaker // guarded by mu
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
	late   bool      // the service, which answers, may still be at the last of them
}

func newQueue(now func() time.Time) *queue {
	ctx, stop := context.WithCancel(context.Background())
	return &queue{now: now, pause: pauseAfter, ctx: ctx, stop: stop, changed: make(chan struct{})}
}

// add puts an upload into the queue, unless it is there, and makes it due.
func (q *queue) add(up *spool.Upload) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := q.indexLocked(up); i >= 0 {
		q.jobs[i].dueAtOnce()
	} else {
		q.jobs = append(q.jobs, &job{up: up})
	}
	q.startLocked()
}

// hurry is add for somebody who waits: the upload is tried before all others, and now.
func (q *queue) hurry(up *spool.Upload) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j := &job{up: up}
	if i := q.indexLocked(up); i >= 0 {
		j = q.jobs[i]
		q.jobs = slices.Delete(q.jobs, i, i+1)
	}
	j.dueAtOnce()
	q.jobs = slices.Insert(q.jobs, 0, j)
	q.breaker.Hasten()
	q.startLocked()
}

func (j *job) dueAtOnce() {
	j.again = j.active
	j.due = time.Time{}
}

// resume tries what has become ready.
func (q *queue) resume() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.startLocked()
}

// wake makes every upload due at once: the service, which could not be reached, has
// answered. That it answers says nothing where it did answer, and took no uploads.
func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.breaker.Tripped() && q.lost != archive.KindBusy && q.lost != archive.KindServer {
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
	next := q.breaker.Until()
	if !next.After(now) {
		next = q.startDueLocked(now)
	}
	if next.IsZero() {
		return
	}
	if q.timer != nil {
		q.timer.Stop()
	}
	q.timer = time.AfterFunc(next.Sub(now), q.resume)
}

// startDueLocked tries as many of the jobs that are due as may be tried at once, and
// returns when the next is due; zero when none is before the end of another. The caller
// holds mu.
func (q *queue) startDueLocked(now time.Time) (next time.Time) {
	for _, j := range q.jobs {
		switch {
		case q.active >= q.limitLocked():
			return time.Time{} // the end of one of them starts the next
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
	return next
}

func (q *queue) limitLocked() int {
	if q.breaker.Tripped() {
		return 1
	}
	return uploadsAtOnce
}

// indexLocked is where an upload stands in the queue, -1 when it does not. The caller
// holds mu.
func (q *queue) indexLocked(up *spool.Upload) int {
	return slices.IndexFunc(q.jobs, func(j *job) bool { return j.up == up })
}
