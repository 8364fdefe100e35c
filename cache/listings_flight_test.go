package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/cache"
)

// slow is a fetch that the test lets go on.
type slow struct {
	release chan string
	ended   chan error // why its context ended, when it did before the release
}

func newSlow() *slow { return &slow{release: make(chan string), ended: make(chan error, 1)} }

func (s *slow) fetch(ctx context.Context) (string, error) {
	select {
	case answer := <-s.release:
		return answer, nil
	case <-ctx.Done():
		s.ended <- ctx.Err()
		return "", ctx.Err()
	}
}

type answer struct {
	entry cache.Entry[string]
	err   error
}

// ask runs Get in the background and returns when it waits for its fetch.
func ask(ctx context.Context, l *cache.Listings[string, string], s *slow) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		e, err := l.Get(ctx, "k", s.fetch)
		got <- answer{e, err}
	}()
	synctest.Wait()
	return got
}

func TestListingsAnswerUnderWayIsNotStoredAfterAChange(t *testing.T) {
	changes := map[string]func(*cache.Listings[string, string]){
		"Invalidate":    func(l *cache.Listings[string, string]) { l.Invalidate("k") },
		"InvalidateAll": func(l *cache.Listings[string, string]) { l.InvalidateAll() },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := cache.NewListings[string, string](10, ttl, time.Now)
				before, after := newSlow(), newSlow()
				first := ask(t.Context(), l, before)
				change(l)
				second := ask(t.Context(), l, after)
				after.release <- "after"
				if got := <-second; got.entry.Value != "after" || got.err != nil {
					t.Fatalf("a later caller got %+v", got)
				}
				before.release <- "before"
				if got := <-first; got.entry.Value != "before" || got.err != nil {
					t.Fatalf("the caller that waited got %+v", got)
				}
				if e, ok := l.Peek("k"); !ok || e.Value != "after" {
					t.Fatalf("stored %+v, want after", e)
				}
			})
		})
	}
}

func TestListingsCallersLeaveOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := cache.NewListings[string, string](10, ttl, time.Now)
		s := newSlow()
		ctx1, cancel1 := context.WithCancel(t.Context())
		ctx2, cancel2 := context.WithTimeout(t.Context(), time.Second)
		defer cancel2()
		first, second := ask(ctx1, l, s), ask(ctx2, l, s)

		cancel1()
		if got := <-first; !errors.Is(got.err, context.Canceled) {
			t.Fatalf("got %v, want context.Canceled", got.err)
		}
		synctest.Wait()
		if len(s.ended) != 0 {
			t.Fatal("the fetch ended with a caller still waiting")
		}
		if got := <-second; !errors.Is(got.err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want context.DeadlineExceeded", got.err)
		}
		if err := <-s.ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("the fetch ended with %v after its last caller had gone", err)
		}

		next := newSlow()
		third := ask(t.Context(), l, next)
		next.release <- "new"
		if got := <-third; got.entry.Value != "new" || got.err != nil {
			t.Fatalf("a later caller got %+v", got)
		}
	})
}

func TestListingsANewCallerDoesNotJoinACancelledFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := cache.NewListings[string, string](10, ttl, time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		held := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = l.Get(ctx, "k", func(ctx context.Context) (string, error) {
				<-held // a fetch that is slow to see its cancellation
				return "late", nil
			})
		}()
		synctest.Wait()
		cancel()
		<-done
		time.Sleep(time.Second)
		next := newSlow()
		second := ask(t.Context(), l, next)
		next.release <- "new"
		if got := <-second; got.entry.Value != "new" {
			t.Fatalf("got %+v", got)
		}
		close(held)
		synctest.Wait()
		if e, _ := l.Peek("k"); e.Value != "new" {
			t.Fatalf("stored %q, want new", e.Value)
		}
	})
}

// A system call that was interrupted by a signal is repeated at once, and its request goes on.
func TestListingsAnInterruptedCallerJoinsItsFetchAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := cache.NewListings[string, string](10, ttl, time.Now)
		s := newSlow()
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			caller := ask(ctx, l, s)
			time.Sleep(10 * time.Millisecond)
			cancel()
			if got := <-caller; !errors.Is(got.err, context.Canceled) {
				t.Fatalf("got %v, want context.Canceled", got.err)
			}
		}
		last := ask(t.Context(), l, s)
		time.Sleep(time.Second)
		s.release <- "value"
		if got := <-last; got.entry.Value != "value" || l.Stats().Fetches != 1 {
			t.Errorf("%+v after %d fetches", got, l.Stats().Fetches)
		}
	})
}

// Who waits for a fetch takes what a prefetch brings before, unless that is older than a change. The
// fetch goes on, and its answer is not stored.
func TestListingsAPrefetchAnswersWhoWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*cache.Listings[string, string])
		offers bool
	}{
		"untouched": {func(*cache.Listings[string, string]) {}, true},
		"changed":   {func(l *cache.Listings[string, string]) { l.Invalidate("k") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := cache.NewListings[string, string](10, ttl, time.Now)
				s, ahead := newSlow(), l.Ahead()
				first, second := ask(t.Context(), l, s), ask(t.Context(), l, s)
				tt.change(l)
				ahead.Offer("k", "ahead")
				ahead.End()
				synctest.Wait()
				if tt.offers != (len(first) == 1 && len(second) == 1) {
					t.Fatalf("%d and %d answers before the fetch has ended", len(first), len(second))
				}
				s.release <- "fetched"
				want := "fetched"
				if tt.offers {
					want = "ahead"
				}
				for _, got := range []answer{<-first, <-second} {
					if got.entry.Value != want || got.err != nil {
						t.Errorf("got %+v, want %s", got, want)
					}
				}
				synctest.Wait()
				if e, ok := l.Peek("k"); ok != tt.offers || ok && e.Value != want {
					t.Errorf("stored %+v, %t", e, ok)
				}
			})
		})
	}
}

// Without a ttl nothing can be offered, and the fetch answers.
func TestListingsAnOfferThatIsTooOldAnswersNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := cache.NewListings[string, string](10, 0, time.Now)
		s, ahead := newSlow(), l.Ahead()
		got := ask(t.Context(), l, s)
		for range 2 {
			ahead.Offer("k", "ahead")
			synctest.Wait()
		}
		s.release <- "fetched"
		if a := <-got; a.entry.Value != "fetched" {
			t.Errorf("got %+v", a)
		}
		ahead.End()
	})
}

func TestListingsServeACachedAnswerToACancelledCaller(t *testing.T) {
	f := newFolder(t, 1)
	f.answer = []string{"a"}
	f.get(1, f.answer, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fetch := func(context.Context) ([]string, error) { t.Error("fetched"); return nil, nil }
	if _, err := f.Get(ctx, 1, fetch); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Get(ctx, 2, fetch); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
}

func TestListingsUpdateChangesAKnownAnswer(t *testing.T) {
	f := newFolder(t, 10)
	f.answer = []string{"a"}
	first := f.get(1, []string{"a"}, 1)
	f.advance(ttl / 2)
	f.Update(1, func(v []string) []string { return append(v[:len(v):len(v)], "b") })
	second := f.get(1, []string{"a", "b"}, 1)
	if second.Serial <= first.Serial || !second.Fetched.Equal(first.Fetched) {
		t.Fatalf("got %+v after %+v, want a new serial and the same age", second, first)
	}
	f.advance(ttl / 2)
	f.get(1, []string{"a"}, 2)
}

func TestListingsUpdateDoesNotMakeAnAnswerFresh(t *testing.T) {
	f := newFolder(t, 10)
	f.get(1, nil, 1)
	f.Invalidate(1)
	f.Update(1, func([]string) []string { return []string{"ours"} })
	f.answer = []string{"theirs"}
	f.get(1, []string{"theirs"}, 2)
}
