package cache_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/archivefs/archivefs/cache"
)

// What is offered is the answer until it is too old or was changed, beside an LRU that is
// too small for it.
func TestOffers(t *testing.T) {
	errFetched := errors.New("it was fetched")
	fetch := func(context.Context) (string, error) { return "", errFetched }
	for name, tt := range map[string]struct {
		during, after func(*cache.Listings[int, string], *time.Time)
		want          error
	}{
		"untouched":               {},
		"changed meanwhile":       {during: func(l *cache.Listings[int, string], _ *time.Time) { l.Invalidate(2) }, want: errFetched},
		"all changed meanwhile":   {during: func(l *cache.Listings[int, string], _ *time.Time) { l.InvalidateAll() }, want: errFetched},
		"another changed":         {during: func(l *cache.Listings[int, string], _ *time.Time) { l.Invalidate(1) }},
		"changed after":           {after: func(l *cache.Listings[int, string], _ *time.Time) { l.Invalidate(2) }, want: errFetched},
		"all changed after":       {after: func(l *cache.Listings[int, string], _ *time.Time) { l.InvalidateAll() }, want: errFetched},
		"a minute later":          {after: func(_ *cache.Listings[int, string], now *time.Time) { *now = now.Add(time.Minute) }, want: errFetched},
		"just before":             {after: func(_ *cache.Listings[int, string], now *time.Time) { *now = now.Add(time.Minute - 1) }},
		"another offer meanwhile": {after: func(l *cache.Listings[int, string], _ *time.Time) { l.Ahead().End() }},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			l := cache.NewListings[int, string](1, time.Minute, func() time.Time { return now })
			a := l.Ahead()
			if tt.during != nil {
				tt.during(l, &now)
			}
			for key, value := range []string{"zero", "one", "two", "three"} {
				a.Offer(key, value)
			}
			a.End()
			began := now
			if tt.after != nil {
				tt.after(l, &now)
			}
			if fresh := l.Fresh(2); fresh != (tt.want == nil) {
				t.Errorf("fresh: %v", fresh)
			}
			got, err := l.Get(t.Context(), 2, fetch)
			if !errors.Is(err, tt.want) || err == nil && (got.Value != "two" || !got.Fetched.Equal(began)) {
				t.Fatalf("%+v, %v", got, err)
			}
			if tt.want != nil {
				return
			}
			if again, err := l.Get(t.Context(), 2, fetch); err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("once more: %+v, %v", again, err)
			}
			if s := l.Stats(); s.Ahead != 1 || s.Hits != 1 || s.Fetches != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// An offer does not replace what was fetched.
func TestOfferOfWhatIsKnown(t *testing.T) {
	l := cache.NewListings[int, string](4, time.Minute, time.Now)
	a := l.Ahead()
	if _, err := l.Get(t.Context(), 1, func(context.Context) (string, error) { return "fetched", nil }); err != nil {
		t.Fatal(err)
	}
	a.Offer(1, "offered")
	a.End()
	if got, err := l.Get(t.Context(), 1, nil); err != nil || got.Value != "fetched" {
		t.Errorf("%+v, %v", got, err)
	}
}

// What is put in is an answer as if it had been fetched, newer than a fetch under way.
func TestPut(t *testing.T) {
	l := cache.NewListings[int, string](4, time.Minute, time.Now)
	begun, end := make(chan struct{}), make(chan struct{})
	fetched := make(chan error)
	go func() {
		_, err := l.Get(t.Context(), 1, func(context.Context) (string, error) {
			close(begun)
			<-end
			return "fetched", nil
		})
		fetched <- err
	}()
	<-begun
	l.Put(1, "put")
	close(end)
	if err := <-fetched; err != nil {
		t.Fatal(err)
	}
	if got, err := l.Get(t.Context(), 1, nil); err != nil || got.Value != "put" || !l.Fresh(1) {
		t.Errorf("%+v, %v", got, err)
	}
}
