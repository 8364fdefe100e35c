package cache_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

const ttl = time.Minute

// away is how a service that cannot be reached fails.
var away = &archive.Error{Op: "document/list", Kind: archive.KindUnreachable}

// folder is a listing under test with a service that answers what the test sets.
type folder struct {
	*cache.Listings[int, []string]
	*clock
	t       *testing.T
	answer  []string
	err     error
	fetches int
}

func newFolder(t *testing.T, limit int) *folder {
	c := newClock()
	return &folder{Listings: cache.NewListings[int, []string](limit, ttl, c.Now), clock: c, t: t}
}

// get asks for key and fails the test unless the answer and the number of fetches match.
func (f *folder) get(key int, want []string, fetches int) cache.Entry[[]string] {
	f.t.Helper()
	entry, err := f.Get(f.t.Context(), key, func(context.Context) ([]string, error) {
		f.fetches++
		return f.answer, f.err
	})
	if err != nil {
		f.t.Fatalf("key %d: %v", key, err)
	}
	f.wantFetches(fetches)
	if !slices.Equal(entry.Value, want) {
		f.t.Fatalf("key %d: got %v, want %v", key, entry.Value, want)
	}
	return entry
}

// fails asks for key and fails the test unless the error and the number of fetches match.
func (f *folder) fails(key int, want error, fetches int) {
	f.t.Helper()
	_, err := f.Get(f.t.Context(), key, func(context.Context) ([]string, error) {
		f.fetches++
		return f.answer, f.err
	})
	if !errors.Is(err, want) {
		f.t.Fatalf("key %d: got %v, want %v", key, err, want)
	}
	f.wantFetches(fetches)
}

func (f *folder) wantFetches(want int) {
	f.t.Helper()
	if f.fetches != want {
		f.t.Fatalf("%d fetches, want %d", f.fetches, want)
	}
}

func TestListingsTrustAnAnswerForTheTTL(t *testing.T) {
	f := newFolder(t, 10)
	f.answer = []string{"a"}
	first := f.get(1, []string{"a"}, 1)
	f.answer = []string{"a", "b"}
	f.advance(ttl - 1)
	if again := f.get(1, []string{"a"}, 1); again.Serial != first.Serial || again.Stale {
		t.Fatalf("a hit answered %+v after %+v", again, first)
	}
	f.advance(time.Nanosecond)
	if next := f.get(1, []string{"a", "b"}, 2); next.Serial <= first.Serial {
		t.Fatalf("serial %d after %d", next.Serial, first.Serial)
	}
	want := cache.ListingsStats{Hits: 1, Misses: 2, Fetches: 2, Entries: 1}
	if got := f.Stats(); got != want {
		t.Fatalf("stats %+v, want %+v", got, want)
	}
}

func TestListingsForgetTheLeastRecentlyUsed(t *testing.T) {
	f := newFolder(t, 2)
	f.get(1, nil, 1)
	f.get(2, nil, 2)
	f.get(1, nil, 2)
	if _, ok := f.Peek(2); !ok {
		t.Fatal("key 2 is not there")
	}
	f.get(3, nil, 3) // drops 2, which Peek did not touch
	if _, ok := f.Peek(2); ok {
		t.Fatal("key 2 is still there")
	}
	f.get(1, nil, 3)
	if n := f.Stats().Entries; n != 2 {
		t.Fatalf("%d entries, want 2", n)
	}
}

func TestListingsFetchOnceForConcurrentCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := cache.NewListings[string, int](1, ttl, time.Now)
		release := make(chan struct{})
		fetch := func(ctx context.Context) (int, error) {
			<-release
			return 42, ctx.Err()
		}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if e, err := l.Get(t.Context(), "k", fetch); e.Value != 42 || err != nil {
					t.Errorf("got %v, %v", e.Value, err)
				}
			})
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		if s := l.Stats(); s.Fetches != 1 || s.Misses != 50 {
			t.Fatalf("stats %+v, want one fetch for 50 misses", s)
		}
	})
}

func TestListingsRememberAnErrorBriefly(t *testing.T) {
	missing := &archive.Error{Op: "document/list", Kind: archive.KindNotFound}
	f := newFolder(t, 10)
	f.err = missing
	f.fails(1, missing, 1)
	f.advance(2*time.Second - 1)
	f.fails(1, missing, 1)
	f.advance(time.Nanosecond)
	f.fails(1, missing, 2)
	f.Invalidate(1)
	f.fails(1, missing, 3)
	if _, ok := f.Peek(1); ok {
		t.Fatal("an error is shown as an answer")
	}
	f.advance(2 * time.Second)
	f.err = nil
	f.get(1, nil, 4)
}

func TestListingsNeverRememberContextErrors(t *testing.T) {
	for _, err := range []error{context.Canceled, context.DeadlineExceeded} {
		f := newFolder(t, 10)
		f.err = err
		f.fails(1, err, 1)
		f.fails(1, err, 2)
	}
}

func TestListingsShowTheOlderAnswerWhileTheServiceIsAway(t *testing.T) {
	f := newFolder(t, 10)
	f.answer = []string{"a"}
	first := f.get(1, []string{"a"}, 1)
	f.advance(ttl)
	f.answer, f.err = nil, away
	for range 2 { // the second within the two seconds, without a fetch
		entry := f.get(1, []string{"a"}, 2)
		if !entry.Stale || entry.Serial != first.Serial || !entry.Fetched.Equal(first.Fetched) {
			t.Fatalf("got %+v, want the stale %+v", entry, first)
		}
	}
	if s := f.Stats(); s.Stale != 2 {
		t.Fatalf("stats %+v, want 2 stale", s)
	}
	f.fails(2, away, 3) // nothing older is known
	f.advance(2 * time.Second)
	f.answer, f.err = []string{"b"}, nil
	if entry := f.get(1, []string{"b"}, 4); entry.Stale {
		t.Fatal("a fetched answer is marked stale")
	}
}

func TestListingsRefusalsHideTheOlderAnswer(t *testing.T) {
	gone := &archive.Error{Op: "document/list", Kind: archive.KindNotFound}
	f := newFolder(t, 10)
	f.get(1, nil, 1)
	f.advance(ttl)
	f.err = gone
	f.fails(1, gone, 2)
	f.fails(1, gone, 2)
}

func TestListingsInvalidateKeepsTheStaleAnswer(t *testing.T) {
	f := newFolder(t, 10)
	f.answer = []string{"a"}
	f.get(1, []string{"a"}, 1)
	f.get(2, []string{"a"}, 2)
	f.Invalidate(1)
	f.err = away
	if !f.get(1, []string{"a"}, 3).Stale {
		t.Fatal("the older answer is not marked stale")
	}
	if f.get(2, []string{"a"}, 3).Stale {
		t.Fatal("another key was invalidated too")
	}
	f.InvalidateAll()
	f.get(2, []string{"a"}, 4)
}
