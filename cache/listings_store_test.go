package cache_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// memory is a Store, without the disk.
type memory map[int]cache.Entry[[]string]

func (m memory) Load(key int) ([]string, time.Time, bool) {
	e, ok := m[key]
	return e.Value, e.Fetched, ok
}

func (m memory) Save(key int, value []string, fetched time.Time) {
	m[key] = cache.Entry[[]string]{Value: value, Fetched: fetched}
}

func (m memory) SavePacked(int, string, time.Time) { panic("nothing is packed") }

func (m memory) Forget(key int) { delete(m, key) }

// newStored is a listing with a store that an earlier process left.
func newStored(t *testing.T, limit int, store memory) *folder {
	f := newFolder(t, limit)
	f.Keep(store)
	return f
}

func TestListingsAreTakenFromTheStoreOnlyWhileTheServiceIsAway(t *testing.T) {
	store := memory{}
	before := newStored(t, 10, store)
	before.answer = []string{"a"}
	saved := before.get(1, []string{"a"}, 1)

	f := newStored(t, 10, store)
	f.err = away
	for range 2 { // the second within the two seconds, without a fetch
		entry := f.get(1, []string{"a"}, 1)
		if !entry.Stale || entry.Serial == 0 || !entry.Fetched.Equal(saved.Fetched) {
			t.Fatalf("got %+v, want the stale %+v", entry, saved)
		}
	}
	f.fails(2, away, 2) // not in the store
	f.advance(2 * time.Second)
	f.answer, f.err = []string{"b"}, nil
	if entry := f.get(1, []string{"b"}, 3); entry.Stale || store[1].Value[0] != "b" {
		t.Fatalf("got %+v with %v in the store", entry, store[1])
	}

	f = newStored(t, 10, store)
	f.answer = []string{"c"}
	f.get(1, []string{"c"}, 1) // however young what is in the store
}

func TestListingsThatMemoryForgotAreInTheStore(t *testing.T) {
	f := newStored(t, 1, memory{})
	f.answer = []string{"a"}
	f.get(1, []string{"a"}, 1)
	f.get(2, []string{"a"}, 2)
	f.err = away
	if !f.get(1, []string{"a"}, 3).Stale {
		t.Fatal("the answer is not marked stale")
	}
}

func TestListingsForgetWhatTheServiceRefusesToShow(t *testing.T) {
	for _, tt := range []struct {
		kind archive.Kind
		kept bool
	}{
		{archive.KindNotFound, false},
		{archive.KindForbidden, false},
		{archive.KindUnauthorized, true}, // of the credentials, not of the folder
		{archive.KindProtocol, true},     // as the page of a proxy
	} {
		f := newStored(t, 10, memory{1: {Value: []string{"a"}}})
		refusal := &archive.Error{Op: "document/list", Kind: tt.kind}
		f.err = refusal
		f.fails(1, refusal, 1)
		f.advance(2 * time.Second)
		f.err = away
		entry, err := f.Get(t.Context(), 1, func(context.Context) ([]string, error) { return nil, away })
		if tt.kept && (err != nil || !entry.Stale) || !tt.kept && !errors.Is(err, away) {
			t.Errorf("%s: got %+v, %v", tt.kind, entry, err)
		}
	}
}

func TestListingsSaveNoAnswerFromBeforeAChange(t *testing.T) {
	store := memory{}
	f := newStored(t, 10, store)
	_, err := f.Get(t.Context(), 1, func(context.Context) ([]string, error) {
		f.Invalidate(1)
		return []string{"before"}, nil
	})
	if _, there := store[1]; there || err != nil {
		t.Fatalf("saved %v, %v", store[1], err)
	}
	f.answer = []string{"a"}
	f.get(1, []string{"a"}, 1)
	f.Update(1, func([]string) []string { return []string{"ours"} })
	f.Save()
	if got := store[1].Value; len(got) != 1 || got[0] != "ours" {
		t.Fatalf("saved %v, want what was changed here", got)
	}
}
