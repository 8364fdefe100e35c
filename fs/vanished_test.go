package fs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/testing/hostile"
	"github.com/archivefs/archivefs/internal/thumbnail"
)

// caches reports whether something of a document is in the content cache.
func (m *mounted) caches(id int64) bool {
	ids, _ := m.fs.Content.Kept.Documents()
	return ids[archive.ID(id)]
}

// askedFor counts the requests for a document by its id.
func (f *foreign) askedFor(id int64) int { return f.Count("GET", fmt.Sprintf("/document/%d/data", id)) }

// Nothing stays on this machine of a document that is not in the archive any more, even if it is kept; what
// was only moved stays.
func TestNothingStaysOfAVanishedDocument(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	add := func(folder int64, name string) int64 {
		return f.AddDocument(folder, hostile.Document{Name: name, Content: []byte(name), Preview: []byte("picture of " + name)})
	}
	erased, kept, moved := add(f.bills, "erased.txt"), add(f.bills, "kept.txt"), add(f.bills, "moved.txt")
	scan, stays := add(f.inbox, "scan.txt"), add(f.letters, "stays.txt")
	m := f.mount(t, often)
	paths := map[int64]string{
		erased: m.path("Muster GmbH", "Rechnungen", "erased.txt"), kept: m.path("Muster GmbH", "Rechnungen", "kept.txt"),
		moved: m.path("Muster GmbH", "Rechnungen", "moved.txt"), scan: m.path("inboxes", "Administrator", "scan.txt"),
		stays: m.path("Muster GmbH", "Briefe", "stays.txt"),
	}
	for _, path := range paths {
		wantContent(t, path, filepath.Base(path))
	}
	wantContent(t, m.path(".archivefs", "documents", fmt.Sprint(erased), "pages", "0001.jpg"), "picture of erased.txt")
	must(t, xattr.Set(paths[kept], keepAttr, []byte("1")))
	m.keeps(fs.KeptComplete)
	for _, id := range []int64{erased, kept, scan} {
		f.Remove(id)
	}
	f.Change(moved, func(d *hostile.Document) { d.Folder = f.letters })
	heals(t, "what was there of them is gone", func() bool {
		for _, path := range paths {
			_, _ = os.ReadDir(filepath.Dir(path)) // lists it again
		}
		_, previews := m.fs.Content.Kept.Documents()
		return !m.caches(erased) && !m.caches(kept) && !m.caches(scan) && !previews
	})
	if !m.caches(stays) {
		t.Error("a document that stays is gone from the cache")
	}
	heals(t, "it was asked for what was moved", func() bool { return f.askedFor(moved) > 0 })
	wantContent(t, m.path("Muster GmbH", "Briefe", "moved.txt"), "moved.txt")
	m.unmount()
	if files := get(filepath.Glob(filepath.Join(m.state, "content", "*", "*")))(t); len(files) != 2 {
		t.Errorf("the cache has %q", files)
	}
}

// A document that vanished while nothing was mounted is noticed by the next mount, once its folder is listed.
func TestADocumentThatVanishedBetweenMounts(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("a")})
	m := f.mount(t, nil)
	wantContent(t, m.path("Muster GmbH", "Rechnungen", "a.txt"), "a")
	m.unmount()
	f.Remove(id)
	m.remount()
	if !m.caches(id) {
		t.Fatal("it was not cached")
	}
	wantNames(t, m.path("Muster GmbH", "Rechnungen"))
	heals(t, "it is gone from the cache", func() bool { return !m.caches(id) })
}

// While the service cannot say whether a document is gone, what is here of it stays.
func TestVanishedDocumentsOfAServiceThatFails(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("a")})
	m := f.mount(t, func(o *fs.Options) { o.TTL = time.Millisecond })
	bills := m.path("Muster GmbH", "Rechnungen")
	wantContent(t, filepath.Join(bills, "a.txt"), "a")
	f.Fault(hostile.Fault{Method: "GET", Path: fmt.Sprintf("/document/%d/data", id), Times: hostile.Always, Do: hostile.Answer(500, "")})
	f.Remove(id)
	heals(t, "it was asked for", func() bool {
		_ = names(t, bills)
		return f.askedFor(id) > 0
	})
	m.unmount()
	if files := get(filepath.Glob(filepath.Join(m.state, "content", "*", "*")))(t); len(files) != 1 {
		t.Errorf("the cache has %q", files)
	}
}

// An erased document leaves no thumbnail that the mount has made.
func TestNoThumbnailStaysOfAVanishedDocument(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	pictures := get(thumbnail.Open("archivefs"))(t)
	data := t.TempDir()
	o := newOffice(t, func(options *server.Options) { options.Data = data })
	id := o.put(t, o.bills, "Scan.jpg", scan(t))
	m := o.mount(t, func(opts *fs.Options) { opts.Thumbnails, opts.TTL = fs.ThumbnailsPreview, time.Millisecond })
	folder := m.path("Muster GmbH", "Rechnungen")
	uri := thumbnail.URI(filepath.Join(folder, "Scan.jpg"))
	browse(t, "nautilus", folder)
	heals(t, "it has a thumbnail", func() bool { return pictures.Made(uri) })
	admin := get(server.OpenAdmin(t.Context(), server.Place{Data: data}))(t)
	defer func() { must(t, admin.Close()) }()
	must(t, admin.Remove(t.Context(), []archive.ID{id}, "twice", server.Term{Days: 30}, false))
	heals(t, "the thumbnail is gone", func() bool {
		_ = names(t, folder)
		return !pictures.Made(uri)
	})
}
