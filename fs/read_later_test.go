package fs_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// glance opens a document and closes it unread, as some file managers do.
func (m *mounted) glance(path string) {
	m.t.Helper()
	file := get(os.Open(path))(m.t)
	must(m.t, file.Close())
	heals(m.t, "release", func() bool { return m.fs.OpenHandles() == 0 })
}

// If the documents of a folder are only opened, only the first is downloaded.
func TestDocumentsThatAreOnlyOpenedAreNotDownloaded(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m, paths := o.reading(t)
	for _, p := range paths {
		m.glance(p)
	}
	if n := o.fetched(); n != 1 {
		t.Errorf("%d contents were asked for, want 1", n)
	}
	// Not in order, so that none is prefetched; and not the first, whose download may have been
	// cancelled by its close.
	for i, p := range []string{paths[39], paths[20], paths[10]} {
		wantContent(t, p, "letter "+p[len(p)-6:])
		if n := o.fetched(); n != i+2 {
			t.Errorf("%d contents were asked for, want %d", n, i+2)
		}
	}
}

// A document that is downloaded by the first READ reads like any other, also for several readers,
// and a large one by passthrough afterwards.
func TestLargeDocumentDownloadedWhenItIsRead(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, o *office, m *mounted) {
		o.put(t, o.letters, "first.txt", "the first")
		o.put(t, o.letters, "large.txt", large)
		path := m.path("Muster GmbH", "Briefe", "large.txt")
		m.glance(m.path("Muster GmbH", "Briefe", "first.txt"))
		open := func() *os.File { return get(os.Open(path))(t) }
		first, second := open(), open()
		if n := o.fetched(); n != 1 {
			t.Errorf("%d contents were asked for before anything is read, want 1", n)
		}
		wantLarge(t, "read", first, large)
		third := open()
		wantLarge(t, "opened before it was read", second, large)
		wantLarge(t, "opened afterwards", third, large)
		if end := get(first.Seek(0, 2))(t); end != int64(len(large)) {
			t.Errorf("it ends at %d of %d", end, len(large))
		}
		for _, f := range []*os.File{first, second, third} {
			must(t, f.Close())
		}
		wantContent(t, path, large)
		if n := o.fetched(); n != 2 {
			t.Errorf("%d contents were asked for, want 2", n)
		}
	})
}

// A document that is gone when it is read is an error, not an empty file.
func TestDocumentGoneWhenItIsRead(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
	f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("first")})
	gone := f.AddDocument(f.bills, hostile.Document{Name: "b.txt", Content: []byte("second")})
	m, _ := f.slow(t)
	m.glance(m.path("Muster GmbH", "Rechnungen", "a.txt"))
	file := get(os.Open(m.path("Muster GmbH", "Rechnungen", "b.txt")))(t)
	defer file.Close() //nolint:errcheck // opened for reading
	f.Remove(gone)
	n, err := file.Read(make([]byte, 10))
	wantErrno(t, fmt.Sprintf("read of %d bytes", n), err, syscall.EIO)
}

// If the listing has a wrong length, a document that is downloaded by the first READ does not seem
// complete: the READ fails, and the next open knows the length.
func TestDocumentOfAnotherLengthWhenItIsRead(t *testing.T) {
	t.Parallel()
	for _, skew := range []int64{-150_000, -1, 1, 5_000_000} {
		t.Run(fmt.Sprint(skew), func(t *testing.T) {
			content := strings.Repeat("x", 200_000)
			f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true, SizeSkew: skew}})
			for _, name := range []string{"a.txt", "b.txt"} {
				f.AddDocument(f.bills, hostile.Document{Name: name, Content: []byte(content)})
			}
			m, _ := f.slow(t)
			m.glance(m.path("Muster GmbH", "Rechnungen", "a.txt"))
			path := m.path("Muster GmbH", "Rechnungen", "b.txt")
			_, err := os.ReadFile(path)
			wantErrno(t, "the first read", err, syscall.EIO)
			wantContent(t, path, content)
		})
	}
}
