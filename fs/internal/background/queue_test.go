package background

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// fakeAttempts answers the attempts of a queue: each upload gets the errors of its script, then
// success.
type fakeAttempts struct {
	mu      sync.Mutex
	script  map[int][]error
	done    map[int]int // attempts
	order   []int       // in which uploads succeeded
	active  int
	most    int           // active at once
	blocked chan struct{} // attempts wait for it, if it is set
	// notReady cannot be tried.
	notReady map[int]bool
}

// fails gives an upload its script.
func (a *fakeAttempts) fails(up int, script ...error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.script[up] = script
}

func (a *fakeAttempts) attempt(ctx context.Context, up int) (bool, error) {
	a.mu.Lock()
	a.done[up]++
	a.active++
	a.most = max(a.most, a.active)
	var err error
	if s := a.script[up]; len(s) > 0 {
		err, a.script[up] = s[0], s[1:]
	}
	blocked := a.blocked
	a.mu.Unlock()
	if blocked != nil {
		select {
		case <-blocked:
		case <-ctx.Done():
			err = &archive.Error{Kind: archive.KindInterrupted, Err: ctx.Err()}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.active--
	if err == nil {
		a.order = append(a.order, up)
	}
	return archive.Away(err), err
}

// tried counts all attempts.
func (a *fakeAttempts) tried() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, done := range a.done {
		n += done
	}
	return n
}

func (a *fakeAttempts) ready(up int) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Time{}, !a.notReady[up]
}

func (a *fakeAttempts) attempts(up int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done[up]
}

// newTestQueue makes a queue and n uploads, which are not added yet. Uploads wait for pause after
// an attempt that the service could not accept.
func newTestQueue(t *testing.T, n int, pause time.Duration) (*Queue[int], *fakeAttempts, []int) {
	t.Helper()
	a := &fakeAttempts{script: map[int][]error{}, done: map[int]int{}, notReady: map[int]bool{}}
	q := New(a.attempt, a.ready, hundred, time.Now)
	q.pause = func(int) time.Duration { return pause }
	t.Cleanup(func() {
		if err := q.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	ups := make([]int, n)
	for i := range ups {
		ups[i] = i
	}
	return q, a, ups
}

func mustDrain(t *testing.T, q *Queue[int], want error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := q.Drain(ctx); !errors.Is(err, want) {
		t.Fatalf("drain: %v, want %v", err, want)
	}
}

// soon waits until ok returns true.
func soon(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not become true")
		}
	}
}

func awayErr(kind archive.Kind) error { return &archive.Error{Op: "file-upload", Kind: kind} }

// always is a script that ends later than any test.
func always(err error) []error { return slices.Repeat([]error{err}, 1000) }

func TestQueueSendsAFewAtATime(t *testing.T) {
	q, a, ups := newTestQueue(t, 40, time.Hour)
	a.blocked = make(chan struct{})
	for _, up := range ups {
		q.Add(up)
	}
	q.Add(ups[len(ups)-1]) // once is enough
	close(a.blocked)
	mustDrain(t, q, nil)
	if a.most > AtOnce || len(a.order) != len(ups) {
		t.Fatalf("%d at once, %d of %d sent", a.most, len(a.order), len(ups))
	}
}

func TestQueueRetriesUploadsThatTheServiceCouldNotAccept(t *testing.T) {
	q, a, ups := newTestQueue(t, 1, time.Nanosecond)
	a.fails(ups[0], awayErr(archive.KindServer), awayErr(archive.KindTimeout), awayErr(archive.KindUnreachable))
	q.Add(ups[0])
	soon(t, func() bool { return a.attempts(ups[0]) == 4 })
	mustDrain(t, q, nil)
}

// TestAddedAgainWhileItIsSent: changes during an attempt are sent, too.
func TestAddedAgainWhileItIsSent(t *testing.T) {
	q, a, ups := newTestQueue(t, 1, time.Hour)
	a.blocked = make(chan struct{})
	q.Add(ups[0])
	soon(t, func() bool { return a.attempts(ups[0]) == 1 })
	q.Add(ups[0])
	close(a.blocked)
	mustDrain(t, q, nil)
	if n := a.attempts(ups[0]); n != 2 {
		t.Fatalf("%d attempts", n)
	}
}

func TestQueueDropsRefusedUploads(t *testing.T) {
	q, a, ups := newTestQueue(t, 2, time.Hour)
	a.fails(ups[0], awayErr(archive.KindForbidden))
	q.Add(ups[0])
	q.Add(ups[1])
	mustDrain(t, q, nil)
	if a.attempts(ups[0]) != 1 || a.attempts(ups[1]) != 1 {
		t.Fatalf("%d and %d attempts", a.attempts(ups[0]), a.attempts(ups[1]))
	}
}

// TestQueueComesBackAtOnce: uploads that would wait for hours are sent as soon as one gets through.
func TestQueueComesBackAtOnce(t *testing.T) {
	q, a, ups := newTestQueue(t, 20, time.Hour)
	for _, up := range ups {
		a.fails(up, always(awayErr(archive.KindUnreachable))...)
	}
	for _, up := range ups {
		q.Add(up)
	}
	wantAllBack(t, q, a, len(ups))
}

// wantAllBack fails the test unless all uploads that the service could not accept are sent as soon
// as it answers another request.
func wantAllBack(t *testing.T, q *Queue[int], a *fakeAttempts, uploads int) {
	t.Helper()
	mustDrain(t, q, ErrAway)
	if n := len(a.order); n != 0 {
		t.Fatalf("%d sent while the service is away", n)
	}
	a.mu.Lock()
	clear(a.script)
	a.mu.Unlock()
	q.Wake()
	mustDrain(t, q, nil)
	if len(a.order) != uploads {
		t.Fatalf("%d of %d sent", len(a.order), uploads)
	}
}

// TestHastenedQueueTriesAtOnce: each upload waits by itself, and the next one need not.
func TestHastenedQueueTriesAtOnce(t *testing.T) {
	q, a, ups := newTestQueue(t, 2, time.Hour)
	for _, up := range ups {
		a.fails(up, awayErr(archive.KindInterrupted))
		q.Add(up)
		soon(t, func() bool { return a.attempts(up) == 1 })
	}
	soon(t, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.active == 0
	})
	q.Hasten()
	soon(t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.order) == len(ups)
	})
}

// TestUnsentUploadsOfABusyServiceComeBackAtOnce: a busy answer says nothing about uploads that
// were never sent.
func TestUnsentUploadsOfABusyServiceComeBackAtOnce(t *testing.T) {
	q, a, ups := newTestQueue(t, 3, time.Hour)
	for _, up := range ups {
		a.fails(up, always(&archive.Error{Kind: archive.KindBusy, Unsent: true})...)
		q.Add(up)
	}
	wantAllBack(t, q, a, len(ups))
}

// TestOneBadUploadDoesNotHoldUpTheOthers: the service always fails for one document.
func TestOneBadUploadDoesNotHoldUpTheOthers(t *testing.T) {
	q, a, ups := newTestQueue(t, 30, time.Hour)
	a.fails(ups[0], always(awayErr(archive.KindServer))...)
	for _, up := range ups {
		q.Add(up)
	}
	soon(t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.order) == len(ups)-1
	})
	if n := a.attempts(ups[0]); n != 1 {
		t.Fatalf("the bad one was tried %d times", n)
	}
}

// TestBadUploadsLetTheOthersPass: there are as many bad uploads as are sent concurrently.
func TestBadUploadsLetTheOthersPass(t *testing.T) {
	q, a, ups := newTestQueue(t, 30, time.Nanosecond)
	for _, up := range ups[:AtOnce] {
		a.fails(up, always(awayErr(archive.KindServer))...)
	}
	for _, up := range ups {
		q.Add(up)
	}
	soon(t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.order) == len(ups)-AtOnce
	})
}

// rests waits until the circuit breaker pauses the queue, and returns the end of the pause.
func rests(t *testing.T, q *Queue[int]) (until time.Time) {
	t.Helper()
	soon(t, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		until = q.breaker.Until()
		return q.active == 0 && until.After(q.now())
	})
	return until
}

// TestQueueObeysRetryAfter: nothing is sent earlier, except on a person's request.
func TestQueueObeysRetryAfter(t *testing.T) {
	q, a, ups := newTestQueue(t, 20, time.Nanosecond)
	a.fails(ups[0], &archive.Error{Kind: archive.KindBusy, RetryAfter: time.Hour})
	q.Add(ups[0])
	if until := rests(t, q); time.Until(until) < 50*time.Minute {
		t.Fatalf("rests until %v", until)
	}
	for _, up := range ups[1:] {
		q.Add(up)
	}
	q.Wake()   // a listing says nothing about uploads
	q.Hasten() // nor does another network
	if n := a.tried(); n != 1 {
		t.Fatalf("%d attempts", n)
	}
	q.Hurry(ups[19])
	soon(t, func() bool { return a.attempts(ups[19]) == 1 })
	mustDrain(t, q, nil)
	if a.order[0] != ups[19] || len(a.order) != len(ups) {
		t.Fatalf("%d of %d sent, in another order", len(a.order), len(ups))
	}
}

// TestAttemptsGrowRareWhileTheServiceIsAway: many waiting uploads cause no more attempts than one.
func TestAttemptsGrowRareWhileTheServiceIsAway(t *testing.T) {
	q, a, ups := newTestQueue(t, 100, time.Hour)
	var clock struct {
		sync.Mutex
		now time.Time
	}
	clock.now = time.Now()
	q.now = func() time.Time {
		clock.Lock()
		defer clock.Unlock()
		return clock.now
	}
	q.pause = func(tries int) time.Duration { return min(time.Second<<min(tries-1, 20), time.Minute) }
	for _, up := range ups {
		a.fails(up, always(awayErr(archive.KindUnreachable))...)
	}
	for _, up := range ups {
		q.Add(up)
	}
	begin := q.now()
	for until := rests(t, q); until.Before(begin.Add(time.Hour)); until = rests(t, q) {
		clock.Lock()
		clock.now = until
		clock.Unlock()
		q.Resume()
	}
	if n := a.tried(); n < 60 || n > 80 {
		t.Fatalf("%d attempts in an hour", n)
	}
}

// TestMootAttemptsProveNothing: an upload that was removed meanwhile proves neither that the service
// is back nor that it is away.
func TestMootAttemptsProveNothing(t *testing.T) {
	q, a, ups := newTestQueue(t, 10, time.Hour)
	for _, up := range ups {
		a.fails(up, always(awayErr(archive.KindUnreachable))...)
	}
	moot := len(ups)
	a.fails(moot, ErrMoot)
	for _, up := range ups {
		q.Add(up)
	}
	mustDrain(t, q, ErrAway)
	before := a.tried()
	q.Hurry(moot)
	soon(t, func() bool { return a.attempts(moot) == 1 })
	mustDrain(t, q, ErrAway)
	if n := a.tried() - before; n > 3 {
		t.Fatalf("%d attempts more", n)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.breaker.Tripped() || len(q.jobs) != len(ups) {
		t.Fatalf("tripped: %v, %d jobs", q.breaker.Tripped(), len(q.jobs))
	}
}

// Drain waits for an upload that may still arrive at a service that answers, without delaying the
// others.
func TestDrainWaitsForUploadsInDoubt(t *testing.T) {
	q, a, ups := newTestQueue(t, 2*AtOnce, time.Millisecond)
	late := fmt.Errorf("%w: %w", ErrInDoubt, awayErr(archive.KindTimeout))
	for _, up := range ups {
		a.fails(up, late, late)
		q.Add(up)
	}
	mustDrain(t, q, nil)
	if len(a.order) != len(ups) {
		t.Fatalf("%d of %d sent", len(a.order), len(ups))
	}
}

func TestUploadsThatBecomeReadyAreTried(t *testing.T) {
	q, a, ups := newTestQueue(t, 1, time.Hour)
	a.notReady[ups[0]] = true
	q.Add(ups[0])
	a.mu.Lock()
	clear(a.notReady)
	a.mu.Unlock()
	q.Resume()
	soon(t, func() bool { return a.attempts(ups[0]) == 1 })
}

func TestQueueWaitsForTheFolder(t *testing.T) {
	q, a, ups := newTestQueue(t, 2, time.Hour)
	a.notReady[ups[0]] = true
	q.Add(ups[0])
	q.Add(ups[1])
	soon(t, func() bool { return a.attempts(ups[1]) == 1 })
	if a.attempts(ups[0]) != 0 {
		t.Fatal("sent before its folder was made")
	}
	a.mu.Lock()
	clear(a.notReady)
	a.mu.Unlock()
	mustDrain(t, q, nil)
	if a.attempts(ups[0]) != 1 {
		t.Fatal("not sent after its folder was made")
	}
}

func TestDrainEndsWithItsContext(t *testing.T) {
	q, a, ups := newTestQueue(t, 1, time.Hour)
	a.blocked = make(chan struct{})
	q.Add(ups[0])
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// A stopped queue begins nothing, and what it has not tried is not waited for.
func TestDrainAfterClose(t *testing.T) {
	q, a, ups := newTestQueue(t, 1, time.Hour)
	a.notReady[ups[0]] = true
	q.Add(ups[0])
	if err := q.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	clear(a.notReady)
	a.mu.Unlock()
	mustDrain(t, q, ErrAway)
	if a.tried() > 0 {
		t.Fatal("it was tried")
	}
}

func TestPausesGrowAndAreBounded(t *testing.T) {
	last := time.Duration(0)
	for tries := 1; tries < 100; tries++ {
		d := pauseAfter(tries)
		if d > longestPause || d < firstPause*3/4 || tries > 15 && d < longestPause*3/4 {
			t.Fatalf("after %d attempts %v", tries, d)
		}
		last = max(last, d)
	}
	if last < longestPause*3/4 {
		t.Fatalf("the longest is %v", last)
	}
}

// While programs are busy a second attempt begins only beside one that takes long.
func TestAQueueYieldsToPrograms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, a, ups := newTestQueue(t, 3, time.Second)
		a.blocked = make(chan struct{})
		q.Busy = func() bool { return true }
		for _, up := range ups {
			q.Add(up)
		}
		for began := range ups {
			synctest.Wait()
			if n := a.tried(); n != began+1 {
				t.Errorf("%d attempts have begun, want %d", n, began+1)
			}
			time.Sleep(yields)
		}
		close(a.blocked)
		mustDrain(t, q, nil)
		if err := q.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// Somebody's first file does not wait for all that others have queued before it.
func TestPeopleTakeTurnsInTheQueue(t *testing.T) {
	began, end := make(chan int), map[int]chan struct{}{}
	for _, up := range slices.Concat(seq(0, 40), seq(100, 102), seq(200, 202)) {
		end[up] = make(chan struct{})
	}
	attempt := func(_ context.Context, up int) (bool, error) {
		began <- up
		<-end[up]
		return false, nil
	}
	q := New(attempt, func(int) (time.Time, bool) { return time.Time{}, true }, hundred, time.Now)
	for _, up := range seq(0, 40) { // of one person
		q.Add(up)
	}
	for range AtOnce {
		<-began
	}
	for _, up := range slices.Concat(seq(100, 102), seq(200, 202)) {
		q.Add(up)
	}
	for _, turn := range []struct{ ended, next int }{{0, 100}, {1, 200}, {2, 4}, {100, 101}, {200, 201}, {101, 5}, {4, 6}} {
		end[turn.ended] <- struct{}{}
		if next := <-began; next != turn.next {
			t.Errorf("after %d began %d, want %d", turn.ended, next, turn.next)
		}
	}
	for _, c := range end {
		close(c)
	}
	go func() { // the others
		for range began {
		}
	}()
	mustDrain(t, q, nil)
	close(began)
	if err := q.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// seq returns the numbers from first to before end.
func seq(first, end int) (all []int) {
	for n := first; n < end; n++ {
		all = append(all, n)
	}
	return all
}

// hundred is whose an upload of these tests is: one of a hundred that follow each other.
func hundred(up int) uint32 { return uint32(up / 100) }

// What waits for a reason of its own keeps nothing else waiting, and Drain does not wait for it.
func TestWhatWaitsAloneHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, a, ups := newTestQueue(t, 2*AtOnce+1, time.Hour)
		alone := fmt.Errorf("%w: %w", ErrOwn, &archive.Error{Kind: archive.KindUnreachable, Unsent: true})
		for _, up := range ups[:2*AtOnce] {
			a.fails(up, alone, alone)
		}
		for _, up := range ups {
			q.Add(up)
		}
		synctest.Wait()
		if got := a.attempts(ups[2*AtOnce]); got != 1 || a.tried() != len(ups) {
			t.Errorf("%d attempts at what does not wait, %d at all", got, a.tried())
		}
		q.Wake() // another request was answered, which says nothing about them
		synctest.Wait()
		if a.tried() != len(ups) {
			t.Errorf("%d attempts after Wake", a.tried())
		}
		if err := q.Drain(t.Context()); !errors.Is(err, ErrAway) {
			t.Error(err)
		}
		q.Hasten()
		synctest.Wait()
		if got := len(a.order); got != len(ups) {
			t.Errorf("%d of %d have succeeded", got, len(ups))
		}
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
