package prefetch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// reader opens documents of folders with a ReadAhead, whose fetches are done at once.
type reader struct {
	*ReadAhead
	now     time.Time
	fetched map[archive.ID]bool
	err     error // of every fetch
}

func newReader(t *testing.T, inFlight int) *reader {
	t.Helper()
	r := &reader{now: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC), fetched: map[archive.ID]bool{}}
	r.ReadAhead = NewReadAhead(t.Context(), inFlight, func(do func()) { do() }, func() time.Time { return r.now })
	return r
}

// opens has a program open a document, after which the next ones are prefetched; it returns how
// many were.
func (r *reader) opens(in string, doc archive.ID) (n int) {
	want := r.Opening(7, named(in), doc, r.fetched[doc])
	r.fetched[doc] = true
	for next := doc + 1; n < want; next++ {
		if r.fetched[next] {
			continue
		}
		fetch := func(context.Context) error { return r.err }
		if !r.Fetch(named(in), next, 1, fetch) {
			break
		}
		r.fetched[next] = true
		n++
	}
	return n
}

func TestReadAheadGrowsWithWhatIsUsed(t *testing.T) {
	r := newReader(t, 4)
	for i, want := range []int{0, 2, 3, 5, 9, 1} {
		if n := r.opens("a", archive.ID(i+1)); n != want {
			t.Errorf("with document %d %d were prefetched, want %d", i+1, n, want)
		}
	}
	for doc := range archive.ID(maxWindow) { // the last ones of the folder
		r.Opening(7, named("a"), doc+7, true)
	}
	if n := r.opens("b", 1001); n != maxWindow {
		t.Errorf("with the first one of the next folder %d were prefetched, want %d", n, maxWindow)
	}
}

func TestReadAheadOfNothing(t *testing.T) {
	for name, opens := range map[string]func(r *reader) int{
		"one document":     func(r *reader) int { return r.opens("a", 1) },
		"a person":         func(r *reader) int { r.opens("a", 1); r.now = r.now.Add(readPause + 1); return r.opens("a", 2) },
		"what is cached":   func(r *reader) int { r.fetched[2] = true; r.opens("a", 1); return r.opens("a", 2) },
		"what is not used": func(r *reader) int { r.opens("a", 1); r.opens("a", 10); return r.opens("a", 20) },
		"what is not read": func(r *reader) int { r.opens("a", 1); r.Stop(named("a")); return r.opens("a", 2) },
		"after an error": func(r *reader) int {
			r.err = errors.New("no")
			r.opens("a", 1)
			r.opens("a", 2)
			return r.opens("a", 5)
		},
		"a folder each time": func(r *reader) int { r.opens("a", 1); return r.opens("b", 2) },
	} {
		t.Run(name, func(t *testing.T) {
			if n := opens(newReader(t, 4)); n != 0 {
				t.Errorf("%d were prefetched", n)
			}
		})
	}
	off := newReader(t, 0)
	off.opens("a", 1)
	if n := off.Opening(7, named("a"), 2, false); n != 0 {
		t.Errorf("with nothing in flight %d are to be prefetched", n)
	}
}

// The bound on what is in flight holds, and neither a large document nor one a second time is
// fetched.
func TestReadAheadIsBounded(t *testing.T) {
	r := newReader(t, 1)
	var background []func()
	r.run = func(do func()) { background = append(background, do) }
	r.Opening(7, named("a"), 1, false)
	r.Opening(7, named("a"), 2, false)
	fetch := func(context.Context) error { return nil }
	if r.Fetch(named("a"), 3, MaxContent+1, fetch) {
		t.Error("a large document is fetched")
	}
	if !r.Fetch(named("a"), 3, MaxContent, fetch) || r.Fetch(named("a"), 4, 1, fetch) {
		t.Error("more or less than one is in flight")
	}
	background[0]()
	if r.Fetch(named("a"), 3, 1, fetch) || !r.Fetch(named("a"), 4, 1, fetch) {
		t.Error("the end of one does not make room for another")
	}
}
