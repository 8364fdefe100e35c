package fs

import (
	"errors"
	"slices"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
	"github.com/archivefs/archivefs/internal/spool"
)

const (
	// firstPause is how long an upload waits after its first attempt that the service could
	// not take; it doubles up to longestPause.
	firstPause   = time.Second
	longestPause = 5 * time.Minute
)

// errMoot says that an attempt asked nothing of the service, and that none is needed.
var errMoot = errors.New("nothing is to be archived")

// run tries a job once and decides when it is tried again, if it is: after the others.
func (q *queue) run(j *job) {
	wait, err := q.attempt(q.ctx, j.up)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.active--
	j.active = false
	j.tried = q.now()
	switch {
	case wait:
		q.loseLocked(j, err)
	case !errors.Is(err, errMoot): // archived or refused: the service takes uploads
		q.backLocked()
	}
	i := q.indexLocked(j.up)
	q.jobs = slices.Delete(q.jobs, i, i+1)
	if wait || j.again {
		q.jobs = append(q.jobs, j)
	}
	if j.again {
		j.again, j.due = false, time.Time{}
	}
	close(q.changed)
	q.changed = make(chan struct{})
	q.startLocked()
}

// loseLocked puts off a job that the service could not take, and trips the breaker after as many
// losses in a row as are sent at once, or where no upload would fare better: no connection, or a
// Retry-After. The service is asked no sooner than it says. The caller holds mu.
func (q *queue) loseLocked(j *job, err error) {
	j.tries++
	if j.late = spool.Unanswered(err); j.late {
		j.due = j.tried.Add(q.pause(j.tries))
		return
	}
	var asked time.Duration
	q.lost = archive.KindOf(err)
	var answer *archive.Error
	if errors.As(err, &answer) {
		asked = answer.RetryAfter
		if answer.Unsent {
			q.lost = archive.KindUnreachable // whatever the service would say to an upload
		}
	}
	j.due = j.tried.Add(max(asked, q.pause(j.tries)))
	q.losses++
	if q.breaker.Tripped() || q.losses >= uploadsAtOnce || q.lost == archive.KindUnreachable || asked > 0 {
		q.breaker.Trip(j.tried.Add(max(asked, q.pause(max(1, q.losses-uploadsAtOnce+1)))))
	}
}

// backLocked notes that the service takes uploads. If that closes the breaker every job is due.
// The caller holds mu.
func (q *queue) backLocked() {
	q.losses = 0
	if !q.breaker.Close() {
		return
	}
	for _, j := range q.jobs {
		j.tries, j.due = 0, time.Time{}
	}
}

// pauseAfter is how long to wait after so many attempts in a row: up to a quarter less than
// firstPause, doubled each time, so that many mounts do not ask at the same time.
func pauseAfter(tries int) time.Duration {
	return retry.Backoff{First: firstPause, Longest: longestPause, Less: 0.25}.After(tries)
}
