// Package background runs work beside the requests: Work counts what is in flight, so that callers
// can wait for its end, and Queue retries jobs until the service has accepted or refused them.
//
// Both are safe for concurrent use. They know nothing of files and uploads.
package background

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
)

// AtOnce is how many jobs a queue tries concurrently.
const AtOnce = 4

const (
	// firstPause is the pause after the first attempt that the service could not accept; it doubles up to longestPause.
	firstPause   = time.Second
	longestPause = 5 * time.Minute
)

// yields is how long an attempt goes on, while programs are busy, until another one begins beside it.
const yields = 10 * time.Millisecond

// ErrMoot is the error of an attempt that sent no request, because there was no need.
var ErrMoot = errors.New("there is nothing to archive")

// ErrInDoubt is part of the error of an attempt that timed out although the service answers other
// requests: it may still take effect, and says nothing about other jobs.
var ErrInDoubt = errors.New("it may still take effect")

// ErrOwn is part of the error of an attempt that could not be accepted for a reason that says nothing
// about the jobs of others.
var ErrOwn = errors.New("it waits alone")

// ErrAway says that Drain gave up because the service is away.
var ErrAway = errors.New("the service does not answer")

// Queue tries jobs in the background, AtOnce at a time, each with exponential backoff until an attempt is final. A
// circuit breaker opens when the service accepts no jobs: then one is tried at a time, with growing pauses, and the
// first that gets through closes the breaker and makes all jobs due. People take turns: the next job is one of whoever
// has the fewest in flight, of several of the one whose last attempt began longest ago. Attempts that take no longer
// than yields run one after the other while programs need the machine themselves.
type Queue[J comparable] struct {
	// Busy reports whether they do; nil for never. It is set before anything else is used, and must not call the queue.
	Busy func() bool

	attempt func(ctx context.Context, of J) (wait bool, err error)
	ready   func(of J) (at time.Time, ok bool)
	whose   func(of J) uint32
	now     func() time.Time
	// pause returns the pause after so many attempts in a row.
	pause func(tries int) time.Duration

	ctx  context.Context // of the attempts
	stop context.CancelFunc

	mu sync.Mutex
	// jobs are in the order in which they are tried.
	jobs []*job[J] // +checklocks:mu
	// active counts the attempts in flight.
	active int // +checklocks:mu
	// people are all for whom there was a job.
	people map[uint32]*person // +checklocks:mu
	// turns counts the attempts.
	turns uint64 // +checklocks:mu
	// began is when the last of them began.
	began time.Time // +checklocks:mu
	// losses counts the attempts in a row that the service could not accept.
	losses int // +checklocks:mu
	// lost is why it could not accept the last of them.
	lost    archive.Kind  // +checklocks:mu
	breaker retry.Breaker // +checklocks:mu
	// stopped: nothing more is tried.
	stopped bool // +checklocks:mu
	// timer fires for the next job that is due.
	timer *time.Timer // +checklocks:mu
	// changed is closed and replaced after each attempt.
	changed chan struct{} // +checklocks:mu
}

// job is a job of the queue. Its fields are guarded by mu of the queue.
type job[J comparable] struct {
	of      J
	whose   *person
	hurried bool // before all others
	active  bool
	tries   int       // attempts in a row that the service could not accept
	tried   time.Time // when the last of them ended
	due     time.Time // not before
	again   bool      // it was added again during an attempt
	late    bool      // the last attempt ended in doubt
}

// person is somebody for whom jobs are done. Guarded by mu of the queue.
type person struct {
	active int    // attempts in flight
	last   uint64 // the last attempt that began
}

// New makes a queue. attempt tries a job once; it returns wait if another attempt is worthwhile
// later. ready reports whether a job can be tried at all, and from when on; it is called with the
// queue locked, and must not call the queue. whose is the person for whom a job is done.
func New[J comparable](attempt func(ctx context.Context, of J) (wait bool, err error), ready func(of J) (at time.Time, ok bool), whose func(of J) uint32, now func() time.Time) *Queue[J] {
	ctx, stop := context.WithCancel(context.Background()) //nolint:gosec // Close calls stop
	return &Queue[J]{attempt: attempt, ready: ready, whose: whose, people: map[uint32]*person{}, now: now, pause: pauseAfter, ctx: ctx, stop: stop, changed: make(chan struct{})}
}

// Add puts a job into the queue, unless it is there already, and makes it due.
func (q *Queue[J]) Add(of J) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := q.indexLocked(of); i >= 0 {
		q.jobs[i].dueAtOnce()
	} else {
		q.jobs = append(q.jobs, q.jobLocked(of))
	}
	q.startLocked()
}

// Hurry is Add for a caller who waits: the job is tried now, before all others.
func (q *Queue[J]) Hurry(of J) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j := q.jobLocked(of)
	if i := q.indexLocked(of); i >= 0 {
		j = q.jobs[i]
		q.jobs = slices.Delete(q.jobs, i, i+1)
	}
	j.dueAtOnce()
	j.hurried = true
	q.jobs = slices.Insert(q.jobs, 0, j)
	q.breaker.Hasten()
	q.startLocked()
}

// +checklocks:q.mu
func (q *Queue[J]) jobLocked(of J) *job[J] {
	uid := q.whose(of)
	if q.people[uid] == nil {
		q.people[uid] = &person{}
	}
	return &job[J]{of: of, whose: q.people[uid]}
}

func (j *job[J]) dueAtOnce() {
	j.again = j.active
	j.due = time.Time{}
}

// Resume tries the jobs that have become ready.
func (q *Queue[J]) Resume() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.startLocked()
}

// Wake makes every job due, because the service, which could not be reached, has answered another
// request. It has no effect if the service did answer the jobs and did not accept them.
func (q *Queue[J]) Wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.breaker.Tripped() && q.lost != archive.KindBusy && q.lost != archive.KindServer {
		q.backLocked()
		q.startLocked()
	}
}

// Hasten makes every job due, because the service may be reached again. It has no effect if the service asked to wait.
func (q *Queue[J]) Hasten() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.breaker.Tripped() && (q.lost == archive.KindBusy || q.lost == archive.KindServer) {
		return
	}
	q.breaker.Hasten()
	for _, j := range q.jobs {
		j.due = time.Time{}
	}
	q.startLocked()
}

// startLocked tries the jobs that are due.
// +checklocks:q.mu
func (q *Queue[J]) startLocked() {
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
	q.timer = time.AfterFunc(next.Sub(now), q.Resume)
}

// startDueLocked starts as many due jobs as may run concurrently, and returns when the next one is
// due; zero if that depends on the end of another.
// +checklocks:q.mu
func (q *Queue[J]) startDueLocked(now time.Time) (next time.Time) {
	for q.active < q.limitLocked() {
		j, due := q.nextLocked(now)
		switch {
		case j == nil:
			return due
		case q.active > 0 && q.Busy != nil && now.Sub(q.began) < yields && q.Busy():
			return q.began.Add(yields)
		}
		j.active = true
		j.whose.active++
		q.turns++
		j.whose.last = q.turns
		q.active++
		q.began = now
		go q.run(j)
	}
	return time.Time{} // the end of one of them starts the next
}

// nextLocked returns the due job whose turn it is or, if there is none, nil and when one will be due.
// +checklocks:q.mu
func (q *Queue[J]) nextLocked(now time.Time) (next *job[J], due time.Time) {
	for _, j := range q.jobs {
		if j.active || next != nil && !j.before(next) {
			continue
		}
		ok := true
		if !j.due.After(now) { // else there is no need to ask for each of many that wait
			var at time.Time
			if at, ok = q.ready(j.of); at.After(j.due) {
				j.due = at
			}
		}
		switch {
		case !j.due.After(now):
			if ok {
				next = j
			}
		case due.IsZero() || j.due.Before(due):
			due = j.due
		}
	}
	return next, due
}

// before reports whether j is tried before o, which is before it in the queue.
func (j *job[J]) before(o *job[J]) bool {
	switch {
	case j.hurried != o.hurried:
		return j.hurried
	case j.whose.active != o.whose.active:
		return j.whose.active < o.whose.active
	}
	return j.whose.last < o.whose.last
}

// +checklocks:q.mu
func (q *Queue[J]) limitLocked() int {
	if q.breaker.Tripped() {
		return 1
	}
	return AtOnce
}

// run tries a job once. If it must be tried again, run decides when, and puts it behind the others.
func (q *Queue[J]) run(j *job[J]) {
	wait, err := q.attempt(q.ctx, j.of)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.active--
	j.whose.active--
	j.active, j.hurried = false, j.hurried && j.again
	j.tried = q.now()
	switch {
	case wait:
		q.loseLocked(j, err)
	case !errors.Is(err, ErrMoot): // done or refused: the service accepts jobs
		q.backLocked()
	}
	i := q.indexLocked(j.of)
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

// loseLocked postpones a job that the service could not accept. It trips the breaker after AtOnce losses in a row, or
// at once if no job would fare better: without a connection, or after a Retry-After, which is obeyed.
// +checklocks:q.mu
func (q *Queue[J]) loseLocked(j *job[J], err error) {
	j.tries++
	if j.late = errors.Is(err, ErrInDoubt); j.late || errors.Is(err, ErrOwn) {
		j.due = j.tried.Add(q.pause(j.tries))
		return
	}
	var asked time.Duration
	q.lost = archive.KindOf(err)
	if answer, ok := errors.AsType[*archive.Error](err); ok {
		asked = answer.RetryAfter
		if answer.Unsent {
			q.lost = archive.KindUnreachable // whatever the service would answer to a job
		}
	}
	j.due = j.tried.Add(max(asked, q.pause(j.tries)))
	q.losses++
	if q.breaker.Tripped() || q.losses >= AtOnce || q.lost == archive.KindUnreachable || asked > 0 {
		q.breaker.Trip(j.tried.Add(max(asked, q.pause(max(1, q.losses-AtOnce+1)))))
	}
}

// backLocked records that the service accepts jobs. If that closes the breaker, every job is due.
// +checklocks:q.mu
func (q *Queue[J]) backLocked() {
	q.losses = 0
	if !q.breaker.Close() {
		return
	}
	for _, j := range q.jobs {
		j.tries, j.due = 0, time.Time{}
	}
}

// pauseAfter returns the pause after so many attempts in a row: firstPause, doubled each time,
// minus up to a quarter at random, so that mounts do not retry in step.
func pauseAfter(tries int) time.Duration {
	return retry.Backoff{First: firstPause, Longest: longestPause, Less: 0.25}.After(tries)
}

// Drain returns when every job that is ready now was done or refused, or was tried once more and the service
// could not accept it (ErrAway), or when ctx is done. Jobs in doubt (ErrInDoubt) are tried again
// and again. After Close it waits only for the attempts in flight.
func (q *Queue[J]) Drain(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // nothing is begun
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	began := q.now()
	q.breaker.Hasten()
	for _, j := range q.jobs {
		j.tries, j.due = 0, time.Time{}
	}
	q.startLocked()
	left := func(j *job[J]) bool {
		at, ok := q.ready(j.of)
		return ok && !at.After(q.now()) && (j.late || j.tried.Before(began))
	}
	for q.active > 0 || !q.stopped && !q.breaker.Tripped() && slices.ContainsFunc(q.jobs, left) {
		if err := q.awaitLocked(ctx); err != nil {
			return err
		}
	}
	if len(q.jobs) > 0 {
		return ErrAway
	}
	return nil
}

// Close stops the queue and returns when all attempts in flight have ended, or when ctx is done.
func (q *Queue[J]) Close(ctx context.Context) error {
	q.stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	if q.timer != nil {
		q.timer.Stop()
	}
	for q.active > 0 {
		if err := q.awaitLocked(ctx); err != nil {
			return err
		}
	}
	return nil
}

// awaitLocked waits for the end of an attempt, with mu unlocked, or until ctx is done.
// +checklocks:q.mu
func (q *Queue[J]) awaitLocked(ctx context.Context) error {
	changed := q.changed
	q.mu.Unlock()
	defer q.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// indexLocked returns the position of a job in the queue, -1 if it is not there.
// +checklocks:q.mu
func (q *Queue[J]) indexLocked(of J) int {
	return slices.IndexFunc(q.jobs, func(j *job[J]) bool { return j.of == of })
}

// Work counts what is in flight. Unlike with a sync.WaitGroup, more work may begin while a caller
// waits, as in a detached mount. The zero value is ready for use.
type Work struct {
	mu sync.Mutex
	n  int // +checklocks:mu
	// idle is closed when n falls to 0; nil while nobody waits.
	idle chan struct{} // +checklocks:mu
}

// Begin counts a piece of work, until a call of End.
func (w *Work) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
}

// End ends what Begin counted.
func (w *Work) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// Go runs work in a goroutine of its own.
func (w *Work) Go(do func()) {
	w.Begin()
	go func() {
		defer w.End()
		do()
	}()
}

// Wait returns when nothing is in flight, or with the context's error if that ends first.
func (w *Work) Wait(ctx context.Context) error {
	w.mu.Lock()
	if w.n == 0 {
		w.mu.Unlock()
		return nil
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

const (
	// manyDocuments is the number of documents, in one answer or expanded, that makes it worthwhile to return memory.
	manyDocuments = 5000
	// restAfter is how long after the last of them a walk counts as over.
	restAfter = 3 * time.Second
)

// Memory returns memory to the system. Decoding and storing a large answer, or expanding compacted
// folders, takes several times the memory that remains in use, and the mount may then be idle for
// hours. So memory is returned right after an answer, and when a walk is over.
type Memory struct {
	expanded atomic.Int64 // documents since rest was last started

	mu   sync.Mutex
	rest *time.Timer // +checklocks:mu
}

// Decoded counts the documents of an answer.
func (m *Memory) Decoded(documents int) {
	if documents >= manyDocuments {
		go debug.FreeOSMemory()
		m.rests()
	}
}

// Expanded counts documents that were expanded from a compacted form.
func (m *Memory) Expanded(documents int) {
	if m.expanded.Add(int64(documents)) >= manyDocuments {
		m.expanded.Store(0)
		m.rests()
	}
}

// rests returns memory a while after its last call.
func (m *Memory) rests() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rest == nil {
		m.rest = time.AfterFunc(restAfter, debug.FreeOSMemory)
	} else {
		m.rest.Reset(restAfter)
	}
}
