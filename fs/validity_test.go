package fs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
