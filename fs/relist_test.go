package fs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// lists counts the requested lists of documents: whole ones, and those of new documents.
func (f *foreign) lists() (whole, recent int) {
	for _, r := range f.RequestsTo("GET", "/document/list") {
		if r.Query.Has("filter-date-created-after") {
			recent++
		} else {
			whole++
		}
	}
	return whole, recent
}

// largeFolder mounts an archive with a folder of 1,200 documents, lists it, and lets the ttl end.
func largeFolder(t *testing.T, cfg hostile.Config) (f *foreign, m *mounted, c *clock, dir string, ids []int64) {
	t.Helper()
	f = newForeign(t, cfg)
	for i := range 1200 {
		ids = append(ids, f.AddDocument(f.bills, hostile.Document{
			Name: fmt.Sprintf("Rechnung %d.txt", i), Content: []byte("x"), Created: time.Date(2018, 1, i, 9, 30, 0, 0, time.UTC),
		}))
	}
	m, c = f.slow(t)
	dir = m.path("Muster GmbH", "Rechnungen")
	wantCount(t, dir, 1200)
	f.Reset()
	return f, m, c, dir, ids
}

func wantCount(t testing.TB, dir string, want int) {
	t.Helper()
	if got := len(names(t, dir)); got != want {
		t.Errorf("%d names, want %d", got, want)
	}
}

// In a large folder programs wait only for the new documents; deletions and renames show as soon as
// the whole list arrives, which is requested once.
func TestLargeFolderIsListedAgain(t *testing.T) {
	t.Parallel()
	f, _, c, dir, ids := largeFolder(t, hostile.Config{})
	f.Remove(ids[0])
	f.Change(ids[1], func(d *hostile.Document) { d.Name = "umbenannt.txt" })
	f.AddDocument(f.bills, hostile.Document{Name: "aus dem Eingang.txt", Created: time.Date(2001, 2, 3, 0, 0, 0, 0, time.UTC)})
	f.AddDocument(f.bills, hostile.Document{Name: "neu.txt", Created: time.Now()})
	c.advance(2 * longTTL)
	if !exists(dir + "/neu.txt") {
		t.Error("the new document is missing")
	}
	heals(t, "the whole list is shown", func() bool {
		return !exists(dir+"/Rechnung 0.txt") && exists(dir+"/umbenannt.txt") && exists(dir+"/aus dem Eingang.txt") && exists(dir+"/neu.txt")
	})
	wantCount(t, dir, 1201)
	if whole, recent := f.lists(); whole != 1 || recent != 1 {
		t.Errorf("%d whole lists and %d of what is new, want one of each", whole, recent)
	}
}

// Own uploads request no list while the last one is younger than the ttl. After that one shows what the service
// has made of them.
func TestOwnUploadIntoALargeFolder(t *testing.T) {
	t.Parallel()
	f, _, c, dir, _ := largeFolder(t, hostile.Config{})
	for i := range 10 {
		name := fmt.Sprintf("%s/eigenes %d.txt", dir, i)
		write(t, name, "eigener Inhalt")
		wantCount(t, dir, 1201+i)
		wantContent(t, name, "eigener Inhalt")
	}
	f.AddDocument(f.bills, hostile.Document{Name: "fremd.txt", Created: time.Now()})
	wantCount(t, dir, 1210)
	if whole, recent := f.lists(); whole+recent > 0 {
		t.Errorf("%d whole lists and %d of what is new, want none", whole, recent)
	}
	c.advance(2 * longTTL)
	heals(t, "the list of the service is shown", func() bool { return exists(dir + "/fremd.txt") })
	wantCount(t, dir, 1211)
}

// Small folders and inboxes are listed whole, and so are all folders if the service does not filter
// by date or the mount itself does.
func TestSmallAndInboxFoldersAreListedWhole(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cfg    hostile.Config
		recent int // requests for new documents only
	}{
		"the service does not filter": {hostile.Config{List: hostile.ListShape{Unfiltered: true}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f, _, c, dir, ids := largeFolder(t, tt.cfg)
			for round := range 3 {
				f.Remove(ids[round])
				c.advance(2 * longTTL)
				wantCount(t, dir, 1200-round-1)
			}
			if whole, recent := f.lists(); whole != 3 || recent != tt.recent {
				t.Errorf("%d whole lists and %d of what is new, want 3 and %d", whole, recent, tt.recent)
			}
		})
	}
	t.Run("small", func(t *testing.T) {
		f := newForeign(t, hostile.Config{})
		one := f.AddDocument(f.bills, hostile.Document{Name: "eins.txt", Content: []byte("1")})
		m, c := f.slow(t)
		wantNames(t, m.path("Muster GmbH", "Rechnungen"), "eins.txt")
		f.Remove(one)
		c.advance(2 * longTTL)
		wantNames(t, m.path("Muster GmbH", "Rechnungen"))
		if _, recent := f.lists(); recent != 0 {
			t.Errorf("%d lists of what is new", recent)
		}
	})
	t.Run("a mount with a date", func(t *testing.T) {
		f := newForeign(t, hostile.Config{})
		for i := range 1200 {
			f.AddDocument(f.bills, hostile.Document{Name: fmt.Sprintf("%d.txt", i)})
		}
		c := newClock()
		m := f.mount(t, func(o *fs.Options) {
			o.TTL, o.Now = longTTL, c.Now
			o.List.CreatedAfter = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		})
		wantCount(t, m.path("Muster GmbH", "Rechnungen"), 1200)
		f.Reset()
		c.advance(2 * longTTL)
		wantCount(t, m.path("Muster GmbH", "Rechnungen"), 1200)
		if lists := f.Count("GET", "/document/list"); lists != 1 {
			t.Errorf("%d lists, want 1", lists)
		}
	})
}
