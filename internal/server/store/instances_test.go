package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

// instances are two stores on one database.
func instances(t *testing.T) [2]opened {
	url := pgtest.Database(t)
	return [2]opened{openURL(t, url), openURL(t, url)}
}

// atOnce does something n times at each instance, concurrently.
func atOnce[T any](both [2]opened, n int, do func(s opened, n int) (T, error)) (results []T, errs []error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 2 * n {
		wg.Go(func() {
			result, err := do(both[i%2], i/2)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
			} else {
				results = append(results, result)
			}
		})
	}
	wg.Wait()
	return results, errs
}

func TestInstancesAgreeAtOnce(t *testing.T) {
	both := instances(t)
	inbox := folder(t, both[0], store.Folder{Name: "I", Inbox: true})
	target := folder(t, both[1], store.Folder{Name: "M"})

	t.Run("an external id is one document", func(t *testing.T) {
		ids, errs := atOnce(both, 8, func(s opened, _ int) (archive.ID, error) {
			ids, err := s.AddDocuments(t.Context(), []store.Document{{Folder: inbox, Name: "d", Digest: "d", ExternalID: "E"}}, true)
			return append(ids, 0)[0], err
		})
		if len(errs) != 0 || len(slices.Compact(ids)) != 1 || len(listed(t, both[0], store.Query{Folder: inbox})) != 1 {
			t.Errorf("ids %v, %v", ids, errs)
		}
	})
	t.Run("a name is one folder", func(t *testing.T) {
		for _, parent := range []archive.ID{0, target} {
			ids, errs := atOnce(both, 4, func(s opened, _ int) (archive.ID, error) {
				return s.AddFolder(t.Context(), store.Folder{Parent: parent, Name: "N"})
			})
			if len(ids) != 1 || len(errs) != 7 || slices.ContainsFunc(errs, func(err error) bool { return archive.KindOf(err) != archive.KindConflict }) {
				t.Errorf("below %d: ids %v, %v", parent, ids, errs)
			}
		}
	})
	t.Run("a document is archived once", func(t *testing.T) {
		scan := listed(t, both[0], store.Query{Folder: inbox})[0]
		ids, errs := atOnce(both, 4, func(s opened, _ int) (archive.ID, error) {
			return s.ArchiveDocument(t.Context(), scan, store.Target{Folder: target, At: time.Now()})
		})
		if len(ids) != 1 || len(errs) != 7 || slices.ContainsFunc(errs, func(err error) bool { return archive.KindOf(err) != archive.KindNotFound }) {
			t.Errorf("ids %v, %v", ids, errs)
		}
		if got := listed(t, both[1], store.Query{Folder: target}); !slices.Equal(got, ids) {
			t.Errorf("archived %v", got)
		}
	})
	t.Run("no key of the metadata is lost", func(t *testing.T) {
		id := listed(t, both[0], store.Query{Folder: target})[0]
		_, errs := atOnce(both, 8, func(s opened, n int) (struct{}, error) {
			value := fmt.Sprint(n)
			return struct{}{}, s.Alter(t.Context(), id, store.SetMetadata(map[string]*string{value: &value}))
		})
		d, err := both[0].Document(t.Context(), id)
		if len(errs) != 0 || err != nil || len(d.Metadata) != 8 {
			t.Errorf("metadata %v, %v, %v", d.Metadata, errs, err)
		}
	})
}

// shelf keeps contents in memory for two instances.
type shelf struct {
	mu   sync.Mutex
	kept map[string]bool // guarded by mu
}

func (s *shelf) set(digest string, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[digest] = kept
}

func (s *shelf) has(_ context.Context, digests ...string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(digests, func(d string) bool { return !s.kept[d] }), nil
}

// Two instances add and remove documents with few contents: no document is ever without its content,
// and in the end no content is left.
func TestNoDocumentIsWithoutItsContent(t *testing.T) {
	both := instances(t)
	ctx := t.Context()
	inbox := folder(t, both[0], store.Folder{Name: "I", Inbox: true})
	contents := &shelf{kept: map[string]bool{}}
	drop := func(s opened, digest string) error {
		return s.Uses.Drop(ctx, digest, func(_ context.Context, digest string) error { contents.set(digest, false); return nil })
	}
	errRefused := errors.New("refused")
	round := func(s opened, n int) (struct{}, error) {
		digest := fmt.Sprint("content ", n%3)
		var id archive.ID
		err := s.Uses.Keep(ctx, store.Keeping{
			Digests: []string{digest},
			Publish: func(context.Context) error { contents.set(digest, true); return nil },
			Kept:    contents.has,
			Record: func(in store.Scope) error {
				ids, err := s.In(in).AddDocuments(ctx, []store.Document{{Folder: inbox, Name: "d", Digest: digest}}, false)
				if err != nil {
					return err
				}
				if id = ids[0]; n%5 == 4 {
					return errRefused
				}
				return nil
			},
		})
		if n%5 == 4 {
			if !errors.Is(err, errRefused) {
				return struct{}{}, fmt.Errorf("not refused: %w", err)
			}
			return struct{}{}, drop(s, digest)
		}
		if err != nil {
			return struct{}{}, err
		}
		if kept, _ := contents.has(ctx, digest); !kept {
			return struct{}{}, fmt.Errorf("document %d has no content", id)
		}
		if _, err := s.DeleteDocument(ctx, id); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, drop(s, digest)
	}
	for range 20 {
		if _, errs := atOnce(both, 10, round); len(errs) != 0 {
			t.Fatal(errs)
		}
	}
	left := maps.Collect(func(yield func(string, bool) bool) {
		for digest, kept := range contents.kept {
			if kept && !yield(digest, kept) {
				return
			}
		}
	})
	if documents := listed(t, both[0], store.Query{Folder: inbox}); len(left) != 0 || len(documents) != 0 {
		t.Errorf("contents %v and documents %v are left", left, documents)
	}
}

// Another process removes a content after it was published, and before its document is added.
func TestARemovedContentIsPublishedAgain(t *testing.T) {
	for _, test := range []struct {
		removals int
		fails    bool
	}{{1, false}, {1000, true}} {
		both := instances(t)
		ctx := t.Context()
		inbox := folder(t, both[0], store.Folder{Name: "I", Inbox: true})
		contents := &shelf{kept: map[string]bool{}}
		published := 0
		err := both[0].Uses.Keep(ctx, store.Keeping{
			Digests: []string{"d"},
			Publish: func(context.Context) error {
				contents.set("d", true)
				if published++; published > test.removals {
					return nil
				}
				return both[1].Uses.Drop(ctx, "d", func(_ context.Context, digest string) error { contents.set(digest, false); return nil })
			},
			Kept: contents.has,
			Record: func(in store.Scope) error {
				_, err := both[0].In(in).AddDocuments(ctx, []store.Document{{Folder: inbox, Name: "d", Digest: "d"}}, false)
				return err
			},
		})
		kept, _ := contents.has(ctx, "d")
		documents := len(listed(t, both[0], store.Query{Folder: inbox}))
		if (err != nil) != test.fails || kept == test.fails || documents == 1 == test.fails {
			t.Errorf("%d removals: %v; published %d times, kept %v, %d documents", test.removals, err, published, kept, documents)
		}
	}
}
