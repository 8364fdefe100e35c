package prefetch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// service has, of each mandator (1, 2, ...), folders with ids from 100 times its own on, and two
// documents in each of them.
type service struct {
	mandators, folders int

	flat    bool  // its recursive lists have no documents of sub-folders
	nowhere bool  // its documents have no folder ids
	err     error // of every list
	stall   chan struct{}

	asked []string
}

func (s *service) Structure(_ context.Context, parent archive.ID, lazy bool) (archive.Structure, error) {
	s.asked = append(s.asked, fmt.Sprintf("structure %d", parent))
	if s.stall != nil {
		<-s.stall
	}
	if lazy {
		return archive.Structure{}, errors.New("lazy")
	}
	var below []archive.Folder
	for m := range archive.ID(s.mandators) {
		f := archive.Folder{ID: m + 1}
		for i := range archive.ID(s.folders) {
			f.Children = append(f.Children, archive.Folder{ID: 100*f.ID + i})
		}
		if parent == f.ID {
			return archive.Structure{Folders: f.Children}, nil
		}
		below = append(below, f)
	}
	if parent != 0 {
		return archive.Structure{}, nil
	}
	return archive.Structure{Folders: below}, nil
}

func (s *service) EachDocument(_ context.Context, folder archive.ID, options archive.ListOptions, begin func() func(*archive.Document)) error {
	s.asked = append(s.asked, fmt.Sprintf("list %d", folder))
	add := begin()
	if s.err != nil || !options.Recursive {
		return s.err
	}
	for i := range archive.ID(s.folders) {
		in := 100*folder + i
		for j := range archive.ID(2) {
			d := &archive.Document{ID: 10*in + j + 1, Folder: in}
			if s.nowhere {
				d.Folder = 0
			}
			if !s.flat {
				add(d)
			}
		}
	}
	return nil
}

// mount is what prefetches of a service, with a clock that stands still.
type mount struct {
	*service
	*Walks
	now     time.Time
	decoded int
}

func newMount(t testing.TB, s *service) *mount {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	m := &mount{service: s, now: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)}
	clock := func() time.Time { return m.now }
	folders := cache.NewListings[archive.ID, archive.Structure](1<<16, time.Hour, clock)
	documents := cache.NewListings[archive.ID, []archive.Document](1<<16, time.Hour, clock)
	folders.Pack(cache.PackedFolders())
	documents.Pack(cache.PackedDocuments())
	m.Walks = NewWalks(ctx, Options{
		Service: s, Answered: func(err error) error { return err }, Folders: folders, Documents: documents,
		Decoded: func(n int) { m.decoded += n }, Go: func(do func()) { go do() }, Now: clock,
	})
	return m
}

// folder is a directory of a mount.
type folder struct {
	m  *mount
	id archive.ID
}

func (f folder) ID() archive.ID { return f.id }
func (f folder) Wants() bool {
	return f.id > 0 && (!f.m.o.Folders.Fresh(f.id) || !f.m.o.Documents.Fresh(f.id))
}

// path goes from a folder up to the root.
func (m *mount) path(id archive.ID) []Folder {
	path := []Folder{folder{m, id}}
	if id >= 100 {
		path = append(path, folder{m, id / 100})
	}
	if id > 0 {
		path = append(path, folder{m, 0})
	}
	return path
}

// opens has a program open these folders, one soon after the other.
func (m *mount) opens(t testing.TB, ids ...archive.ID) (w *Walk) {
	t.Helper()
	for _, id := range ids {
		w = m.Opening(t.Context(), 7, m.path(id))
		m.Opened(7)
	}
	return w
}

func (m *mount) wantAsked(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(m.asked, want) {
		t.Errorf("asked for %q, want %q", m.asked, want)
	}
}

func TestWalkPrefetchesItsMandator(t *testing.T) {
	m := newMount(t, &service{mandators: 2, folders: 5})
	if w := m.opens(t, 0, 1); w != nil || len(m.asked) > 0 {
		t.Fatalf("two folders are a walk, and %q was asked for", m.asked)
	}
	if m.opens(t, 100) == nil {
		t.Fatal("three folders are no walk")
	}
	m.wantAsked(t, "structure 1", "list 1")
	for _, id := range m.path(103) {
		if id.Wants() {
			t.Errorf("%d was not prefetched", id.ID())
		}
	}
	if got, err := m.o.Documents.Get(t.Context(), 104, nil); err != nil || len(got.Value) != 2 || m.decoded != 10 {
		t.Errorf("documents %v, %v; %d in all", got.Value, err, m.decoded)
	}
	m.opens(t, 101, 102, 103)
	m.wantAsked(t, "structure 1", "list 1")
	m.opens(t, 2)
	m.wantAsked(t, "structure 1", "list 1", "structure 0", "list 2")
}

// A subtree with more folders than a walk may spend is not listed; the next time it may spend twice
// as many.
func TestWalkListsWithinItsBudget(t *testing.T) {
	m := newMount(t, &service{mandators: 1, folders: firstBudget})
	m.opens(t, 0, 1, 1)
	m.wantAsked(t, "structure 1")
	m.opens(t, 1)
	m.wantAsked(t, "structure 1", "list 1")
}

// A service whose recursive lists cannot be trusted is not asked for them again and again, and no
// folder is taken for an empty one.
func TestListsThatCannotBeTrusted(t *testing.T) {
	for name, tt := range map[string]struct {
		s     service
		lists int // of four
	}{
		"flat":       {service{flat: true}, maxVain},
		"no folders": {service{nowhere: true}, 1},
		"refused":    {service{err: errors.New("no")}, 1},
		"away":       {service{err: &archive.Error{Kind: archive.KindUnreachable}}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			tt.s.mandators, tt.s.folders = 1, 4
			m := newMount(t, &tt.s)
			m.opens(t, 0, 0)
			for range 4 {
				m.opens(t, 1)
				m.o.Documents.Invalidate(1)
			}
			lists := slices.DeleteFunc(slices.Clone(m.asked), func(r string) bool { return r != "list 1" })
			if len(lists) != tt.lists {
				t.Errorf("asked for %q", m.asked)
			}
			if m.o.Documents.Fresh(100) {
				t.Error("a folder is shown as empty")
			}
			if m.now = m.now.Add(recursionPause); name == "refused" {
				m.asked = nil
				m.opens(t, 1, 1, 1)
				if !slices.Contains(m.asked, "list 1") {
					t.Error("recursive lists are not tried again")
				}
			}
		})
	}
}

// A list that lacks all documents of a folder that is known to have some is not used.
func TestListThatLacksAKnownFolder(t *testing.T) {
	m := newMount(t, &service{mandators: 1, folders: 4})
	known := []archive.Document{{ID: 1, Folder: 1}}
	get := func(context.Context) ([]archive.Document, error) { return known, nil }
	if _, err := m.o.Documents.Get(t.Context(), 1, get); err != nil {
		t.Fatal(err)
	}
	m.opens(t, 0, 1, 100)
	if m.o.Documents.Fresh(100) {
		t.Error("the list was used")
	}
}

// One prefetch is in flight at a time, and goes on without who waited for it.
func TestPrefetchGoesOnWithoutItsCaller(t *testing.T) {
	m := newMount(t, &service{mandators: 1, folders: 4, stall: make(chan struct{})})
	m.opens(t, 0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		m.Opening(ctx, 7, m.path(1))
	}
	close(m.stall)
	m.opens(t, 1)
	m.wantAsked(t, "structure 1", "list 1")
}

// The more documents the folders of the last list had, the fewer folders the next one covers, so that a
// walk does not wait for a million of them.
func TestListsOfFullFoldersCoverFew(t *testing.T) {
	m := newMount(t, &service{mandators: 1, folders: 2 * lookupBudget})
	m.subtrees.listed(1, maxDocuments)
	m.opens(t, 0, 1, 100)
	m.wantAsked(t, "structure 1")
	m.subtrees.listed(0, 1) // a folder of which nothing is known any more says nothing
	m.subtrees.listed(1000, 2000)
	m.opens(t, 101)
	m.wantAsked(t, "structure 1", "list 1")
}

// placed are the folders of a recursive list, beside the one that was listed, and placedIn the
// documents in each.
const placed, placedIn = 1000, 10

// recursive is a mount of which a walk knows the folders, and what a recursive list says of it.
func recursive(t testing.TB) (*mount, []archive.Document) {
	t.Helper()
	m := newMount(t, &service{mandators: 1, folders: placed})
	if _, err := m.Walks.Structure(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	var list []archive.Document
	for i := range archive.ID(placed) {
		for j := range archive.ID(placedIn) {
			id := 1000*i + j + 1
			list = append(list, archive.Document{ID: id, Folder: 100 + i, Name: fmt.Sprintf("Rechnung Nr. %06d.pdf", id), Pages: 1, Size: 1000})
		}
	}
	return m, list
}

// place offers the folders what a recursive list says of them.
func place(tb testing.TB, m *mount, list []archive.Document) {
	tb.Helper()
	var lists cache.PackedLists
	for i := range list {
		lists.Add(&list[i])
	}
	offers := m.o.Documents.Ahead()
	defer offers.End()
	if !m.offer(offers, 1, &lists) || !m.o.Documents.Fresh(100+placed-1) {
		tb.Fatal("the folders were not offered")
	}
}

// BenchmarkPlaceRecursiveList sorts a recursive list of 10,000 documents by 1,000 folders.
func BenchmarkPlaceRecursiveList(b *testing.B) {
	m, list := recursive(b)
	b.ReportAllocs()
	for b.Loop() {
		place(b, m, list)
	}
}

// Placing a recursive list allocates in large pieces, not for each document or folder.
func TestPlacingAllocatesLittle(t *testing.T) {
	m, list := recursive(t)
	allocs := testing.AllocsPerRun(10, func() { place(t, m, list) })
	if allocs > placed/5 {
		t.Errorf("%v allocations for %d folders", allocs, placed)
	}
}

// A mandator's structure is requested when it is entered for the first time, unless it has been listed
// quickly, and known from then on.
func TestEnteringAMandator(t *testing.T) {
	m := newMount(t, &service{mandators: 3, folders: 3})
	m.o.Go = func(do func()) { do() }
	m.o.Folders.Put(3, archive.Structure{})
	for _, mandator := range []archive.ID{1, 1, 2, 1, 3} {
		m.Entering(mandator)
	}
	if want := []string{"structure 1", "structure 2"}; !slices.Equal(m.asked, want) {
		t.Errorf("asked for %q, want %q", m.asked, want)
	}
	if !m.o.Folders.Fresh(102) || !m.o.Folders.Fresh(200) {
		t.Error("folders below would be listed again")
	}
}
