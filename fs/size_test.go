package fs_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// stat follows a replacement of an inbox document that nobody opens again.
func TestSizeOfAReplacedInboxDocument(t *testing.T) {
	t.Parallel()
	for _, sizes := range []bool{true, false} {
		t.Run("sizes "+strconv.FormatBool(sizes), func(t *testing.T) {
			f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: sizes}})
			id := f.AddDocument(f.inbox, hostile.Document{Name: "a.txt", Content: []byte("short")})
			m, c := f.slow(t)
			path := m.path("inboxes", "Administrator", "a.txt")
			wantContent(t, path, "short")
			heals(t, "the download ends", func() bool { return m.fs.Status().Cache.Content.Files == 1 })
			f.Change(id, func(d *hostile.Document) { d.Content = []byte("a longer one") })
			c.advance(2 * longTTL)
			heals(t, "the size is the new one", func() bool {
				names(t, filepath.Dir(path))
				return get(os.Stat(path))(t).Size() == 12
			})
			wantContent(t, path, "a longer one")
		})
	}
}

// A wrong length in a listing does not truncate reads.
func TestListingTellsAWrongSize(t *testing.T) {
	content := strings.Repeat("x", 200_000)
	for _, skew := range []int64{-150_000, -1, 1, 5_000_000} {
		t.Run(strconv.FormatInt(skew, 10), func(t *testing.T) {
			f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true, SizeSkew: skew}})
			for _, folder := range []int64{f.bills, f.inbox} {
				f.AddDocument(folder, hostile.Document{Name: "a.txt", Content: []byte(content)})
			}
			m, _ := f.slow(t)
			for _, path := range []string{m.path("Muster GmbH", "Rechnungen", "a.txt"), m.path("inboxes", "Administrator", "a.txt")} {
				get(os.Stat(path))(t) // the kernel remembers the wrong one
				got := get(exec.CommandContext(t.Context(), "cat", path).Output())(t)
				if string(got) != content {
					t.Errorf("cat: %d bytes of %d", len(got), len(content))
				}
				wantContent(t, path, content)
				if got := get(os.Stat(path))(t).Size(); got != int64(len(content)) {
					t.Errorf("size %d of %d", got, len(content))
				}
			}
		})
	}
}

// One document of unknown length does not hide the lengths of the others.
func TestSizesOfAFolderWithAnEmptyDocument(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "a empty.txt"})
	for i := range 200 {
		f.AddDocument(f.bills, hostile.Document{Name: "b.txt", Content: bytes.Repeat([]byte("x"), i+1)})
	}
	gone := f.AddDocument(f.bills, hostile.Document{Name: "a gone.txt", Content: []byte("x")})
	m, _ := f.slow(t)
	dir := m.path("Muster GmbH", "Rechnungen")
	names(t, dir)
	f.Remove(gone)
	out := string(get(exec.CommandContext(t.Context(), "ls", "-l", dir).CombinedOutput())(t))
	exact := 0
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 8 && fields[8] == "b.txt" || strings.Contains(line, "b (") {
			if size, err := strconv.Atoi(fields[4]); err == nil && size >= 1 && size <= 200 {
				exact++
			}
		}
	}
	if exact != 200 {
		t.Errorf("%d of 200 lengths are exact", exact)
	}
	if info := get(os.Stat(dir + "/a empty.txt"))(t); info.Size() != 0 {
		t.Errorf("the empty document has %d bytes", info.Size())
	}
	if n := f.Count("GET", "/document/{id}/pdf"); n != 0 {
		t.Errorf("%d downloads for attributes", n)
	}
	wantContent(t, dir+"/a empty.txt", "")
	if info := get(os.Stat(dir + "/a empty.txt"))(t); info.Size() != 0 {
		t.Errorf("the empty document has %d bytes", info.Size())
	}
}

// A service that reports length 0 for every document, or for one with bytes, is not believed,
// because programs would take these for empty files.
func TestServiceThatSaysZero(t *testing.T) {
	t.Parallel()
	for name, times := range map[string]int{"of all": hostile.Always, "of one": 1} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{})
			f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("not empty")})
			f.AddDocument(f.bills, hostile.Document{Name: "b.txt", Content: []byte("not empty")})
			f.AddDocument(f.bills, hostile.Document{Name: "c empty.txt"})
			m, _ := f.slow(t)
			dir := m.path("Muster GmbH", "Rechnungen")
			names(t, dir)
			f.Fault(hostile.Fault{Method: "HEAD", Times: times, Do: hostile.Answer(200, "", "Content-Length", "0")})
			if size := get(os.Stat(dir + "/a.txt"))(t).Size(); size == 0 {
				t.Error("a document that has bytes is shown as empty")
			}
			wantContent(t, dir+"/a.txt", "not empty") // this reveals the wrong length
			if size := get(os.Stat(dir + "/b.txt"))(t).Size(); size == 0 {
				t.Error("another one is shown as empty")
			}
			wantContent(t, dir+"/c empty.txt", "")
			if size := get(os.Stat(dir + "/c empty.txt"))(t).Size(); size != 0 {
				t.Errorf("a document of no bytes that was read has %d", size)
			}
		})
	}
}

// If the service reports no lengths, it is not asked for each of them in vain.
func TestServiceWithoutSizesIsNotAskedForAll(t *testing.T) {
	for name, shape := range map[string]hostile.ContentShape{"no HEAD": {HeadStatus: 405}, "no length": {Chunked: true}} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{Content: shape})
			for range 200 {
				f.AddDocument(f.bills, hostile.Document{Name: "b.txt", Content: []byte("x")})
			}
			m, _ := f.slow(t)
			get(exec.CommandContext(t.Context(), "ls", "-l", m.path("Muster GmbH", "Rechnungen")).CombinedOutput())(t)
			if n := f.Count("HEAD", ""); n > 20 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}
