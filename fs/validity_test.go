package fs_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// In data mode a file has the latest data of the document.
func TestDataFollowsAttributesSetHere(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "a", Content: []byte("x")})
	m := f.mount(t, func(o *fs.Options) { o.Mode = fs.ContentData })
	path := m.path("Muster GmbH", "Rechnungen", "a.json")
	if text := string(get(os.ReadFile(path))(t)); strings.Contains(text, "dringend") {
		t.Fatalf("the data is %s", text)
	}
	must(t, setAttr(path, "keywords", "dringend"))
	if text := string(get(os.ReadFile(path))(t)); !strings.Contains(text, "dringend") {
		t.Errorf("the data is %s", text)
	}
}

// A document was read in an inbox, then changed and archived under the same id by another client:
// it has the archived content, forever.
func TestChangedAndArchivedAtTheService(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("draft")})
	m, c := f.slow(t)
	wantContent(t, m.path("inboxes", "Administrator", "scan.txt"), "draft")
	heals(t, "the download ends", func() bool { return m.fs.Status().Cache.Content.Files == 1 })
	f.Change(id, func(d *hostile.Document) { d.Content, d.Folder = []byte("as archived"), f.bills })
	c.advance(2 * longTTL)
	archived := m.path("Muster GmbH", "Rechnungen", "scan.txt")
	wantContent(t, archived, "as archived")
	heals(t, "it is cached", func() bool { return m.fs.Status().Cache.Content.Bytes == int64(len("as archived")) })
	c.advance(2 * longTTL)
	f.Reset()
	wantContent(t, archived, "as archived")
	if n := f.Count("GET", "/document/{id}/pdf"); n != 0 {
		t.Errorf("what cannot change is asked for %d times", n)
	}
}

// Pages are added to an archived document, or its content is replaced: the next listing says so, and a reader gets
// the new content, with its length. Nothing is requested again of a document that is listed as before.
func TestAnArchivedDocumentChangesAtTheService(t *testing.T) {
	for name, change := range map[string]func(d *hostile.Document){
		"pages are added":         func(d *hostile.Document) { d.Pages, d.Content = 3, []byte("one, two, three") },
		"its content is replaced": func(d *hostile.Document) { d.Archived, d.Content = d.Archived.Add(time.Hour), []byte("replaced") },
		"it is split":             func(d *hostile.Document) { d.Pages, d.Content = 1, []byte("o") },
	} {
		for _, sizes := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, sizes %v", name, sizes), func(t *testing.T) {
				t.Parallel()
				f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: sizes}})
				id := f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Pages: 2, Content: []byte("one, two"), Archived: time.Now().Add(-time.Hour)})
				f.AddDocument(f.bills, hostile.Document{Name: "b.txt", Pages: 2, Content: []byte("as it was")})
				m, c := f.slow(t)
				changed, same := m.path("Muster GmbH", "Rechnungen", "a.txt"), m.path("Muster GmbH", "Rechnungen", "b.txt")
				wantContent(t, changed, "one, two")
				wantContent(t, same, "as it was")
				heals(t, "both are cached", func() bool { return m.fs.Status().Cache.Content.Files == 2 })
				want := ""
				f.Change(id, func(d *hostile.Document) {
					change(d)
					want = string(d.Content)
				})
				c.advance(2 * longTTL)
				f.Reset()
				names(t, filepath.Dir(changed))
				wantContent(t, changed, want)
				if size := get(os.Stat(changed))(t).Size(); size != int64(len(want)) {
					t.Errorf("size %d, want %d", size, len(want))
				}
				wantContent(t, same, "as it was")
				if n := f.Count("GET", "/document/{id}/pdf"); n != 1 {
					t.Errorf("%d contents were requested, want the changed one", n)
				}
			})
		}
	}
}

// What a program has open stays what it was when pages are added at the service; who opens it now gets them.
func TestAnOpenDocumentChangesAtTheService(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Pages: 1, Content: []byte("one"), Archived: time.Now()})
	m, c := f.slow(t)
	path := m.path("Muster GmbH", "Rechnungen", "a.txt")
	open := get(os.Open(path))(t)
	f.Change(id, func(d *hostile.Document) { d.Pages, d.Content = 2, []byte("one, two") })
	c.advance(2 * longTTL)
	names(t, filepath.Dir(path))
	wantContent(t, path, "one, two")
	if b := get(io.ReadAll(open))(t); string(b) != "one" {
		t.Errorf("what was open has become %q", b)
	}
	must(t, open.Close())
}

// An inbox document is split: what is left of it keeps its id, and is not read as before because it was
// read a moment ago.
func TestAnInboxDocumentIsSplit(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Pages: 2, Content: []byte("one, two")})
	m, c := f.slow(t)
	path := m.path("inboxes", "Administrator", "scan.txt")
	wantContent(t, path, "one, two")
	heals(t, "it is cached", func() bool { return m.fs.Status().Cache.Content.Files == 1 })
	c.advance(longTTL - time.Second)
	wantContent(t, path, "one, two")
	f.Change(id, func(d *hostile.Document) { d.Pages, d.Content = 1, []byte("one") })
	c.advance(2 * time.Second)
	names(t, filepath.Dir(path))
	wantContent(t, path, "one")
}

// The data of an archived document shows changes by others.
func TestDataFollowTheService(t *testing.T) {
	for _, folder := range []string{"Rechnungen", "Administrator"} {
		t.Run(folder, func(t *testing.T) {
			f := newForeign(t, hostile.Config{OnlyEight: true})
			ids := map[string]int64{"Rechnungen": f.bills, "Administrator": f.inbox}
			id := f.AddDocument(ids[folder], hostile.Document{Name: "a", Keywords: []string{"alt"}})
			m, c := f.slow(t)
			path := m.path(map[string]string{"Rechnungen": "Muster GmbH/Rechnungen", "Administrator": "inboxes/Administrator"}[folder], "a.json")
			if text := string(get(os.ReadFile(path))(t)); !strings.Contains(text, "alt") {
				t.Errorf("the data is %s", text)
			}
			heals(t, "it is cached", func() bool { return m.fs.Status().Cache.Content.Files == 1 })
			f.Change(id, func(d *hostile.Document) { d.Keywords = []string{"neu", "und länger"} })
			c.advance(2 * longTTL)
			names(t, filepath.Dir(path))
			out := string(get(exec.CommandContext(t.Context(), "cat", path).Output())(t))
			if !strings.Contains(out, "länger") || !strings.HasSuffix(strings.TrimSpace(out), "}") {
				t.Errorf("the data is %s", out)
			}
			if size := get(os.Stat(path))(t).Size(); size != int64(len(out)) {
				t.Errorf("size %d, want %d", size, len(out))
			}
		})
	}
}
