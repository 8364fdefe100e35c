package fs_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// replaced is an inbox document that the service replaced after a reader had read its beginning.
type replaced struct {
	*mounted
	f             *foreign
	id            int64
	path          string
	before, after string
	old           *os.File // at the tenth byte
}

func newReplaced(t *testing.T) *replaced {
	t.Helper()
	f := newForeign(t, hostile.Config{})
	r := &replaced{f: f, before: strings.Repeat("A", 1_000_000), after: strings.Repeat("B", 1_200_000)}
	r.id = f.AddDocument(f.inbox, hostile.Document{Name: "a.txt", Content: []byte(r.before)})
	m, c := f.slow(t)
	r.mounted, r.path = m, m.path("inboxes", "Administrator", "a.txt")
	r.old = get(os.Open(r.path))(t)
	t.Cleanup(func() { must(t, r.old.Close()) })
	get(io.ReadFull(r.old, make([]byte, 10)))(t)
	heals(t, "the download ends", func() bool { return m.fs.Status().Cache.Content.Files == 1 })
	f.Change(r.id, func(d *hostile.Document) { d.Content = []byte(r.after) })
	c.advance(2 * longTTL)
	return r
}

// wantOld fails the test unless the reader gets the rest of the old content.
func (r *replaced) wantOld() {
	r.t.Helper()
	wantBytes(r.t, r.old, r.before[10:])
}

// wantBytes fails the test unless the rest of f is want.
func wantBytes(t testing.TB, f *os.File, want string) {
	t.Helper()
	got := string(get(io.ReadAll(f))(t))
	if got != want {
		t.Errorf("%d bytes, %d A and %d B; want %d bytes, %d A and %d B", len(got), strings.Count(got, "A"), strings.Count(got, "B"),
			len(want), strings.Count(want, "A"), strings.Count(want, "B"))
	}
}

// eventuallyHas waits for a document's new content, which is sent at RELEASE, because this process
// has another descriptor of the same inode number.
func (f *foreign) eventuallyHas(t testing.TB, id int64, want string) {
	t.Helper()
	heals(t, "the service has the new content", func() bool {
		d, _ := f.Document(id)
		return string(d.Content) == want
	})
}

// byDescriptor returns a path to the same inode as f.
func byDescriptor(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// Opening the inode of a reader again gives the old content, as after a rename over a file; the
// name leads to the new content.
func TestReopenedByDescriptor(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(*replaced) string{
		"before the name":    func(r *replaced) string { return byDescriptor(r.old) },
		"and after the name": func(r *replaced) string { return r.path },
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplaced(t)
			get(os.ReadFile(first(r)))(t)
			for range 2 {
				again := get(os.Open(byDescriptor(r.old)))(t)
				if size := get(again.Stat())(t).Size(); size != int64(len(r.before)) {
					t.Errorf("size %d, want %d", size, len(r.before))
				}
				wantBytes(t, again, r.before)
				must(t, again.Close())
				wantContent(t, r.path, r.after)
			}
			r.wantOld()
		})
	}
}

// The old inode cannot be written through its descriptor; through its name the new document can.
func TestWriteToAReplacedDocument(t *testing.T) {
	t.Parallel()
	r := newReplaced(t)
	wantContent(t, r.path, r.after)
	for _, flag := range []int{os.O_WRONLY, os.O_RDWR | os.O_TRUNC} {
		w, err := os.OpenFile(byDescriptor(r.old), flag, 0)
		wantErrno(t, "open for writing", err, syscall.ESTALE)
		if err == nil {
			must(t, w.Close())
		}
	}
	must(t, os.WriteFile(r.path, []byte("new"), 0o600))
	r.f.eventuallyHas(t, r.id, "new")
	wantContent(t, r.path, "new")
	r.wantOld()
}

// Opening the document for reading and writing gives the new content, and earlier readers continue
// with the old one.
func TestOpenedForWritingAfterItWasReplaced(t *testing.T) {
	t.Parallel()
	r := newReplaced(t)
	rw := get(os.OpenFile(r.path, os.O_RDWR, 0))(t)
	wantBytes(t, rw, r.after)
	r.wantOld()
	get(rw.WriteAt([]byte("C"), 0))(t)
	must(t, rw.Close())
	r.f.eventuallyHas(t, r.id, "C"+r.after[1:])
	wantContent(t, r.path, "C"+r.after[1:])
}

// A handle for writing changes the content that it has read.
func TestReplacedWhileOpenForWriting(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.inbox, hostile.Document{Name: "a.txt", Content: []byte("what was read")})
	m, c := f.slow(t)
	path := m.path("inboxes", "Administrator", "a.txt")
	rw := get(os.OpenFile(path, os.O_RDWR, 0))(t)
	get(io.ReadFull(rw, make([]byte, 4)))(t)
	f.Change(id, func(d *hostile.Document) { d.Content = []byte("something that was put there meanwhile") })
	c.advance(2 * longTTL)
	get(rw.WriteAt([]byte("W"), 0))(t)
	wantBytes(t, rw, " was read")
	must(t, rw.Close())
	f.eventuallyHas(t, id, "What was read")
	wantContent(t, path, "What was read")
}

// A handle reads what it wrote, even after the close of another descriptor archived it, and so do
// later opens of the document.
func TestReadAfterItWasArchivedByAnotherClose(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.inbox, hostile.Document{Name: "a.txt", Content: []byte(strings.Repeat("A", 500_000))})
	m, _ := f.slow(t)
	path := m.path("inboxes", "Administrator", "a.txt")
	reads := get(os.OpenFile(path, os.O_RDWR, 0))(t)
	defer func() { must(t, reads.Close()) }()
	get(io.ReadFull(reads, make([]byte, 10)))(t)
	want := strings.Repeat("0", 400_000)
	write := exec.CommandContext(t.Context(), "sh", "-c", `printf '%0400000d' 0 > "$1"`, "sh", path)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f.eventuallyHas(t, id, want)
	get(reads.Seek(0, io.SeekStart))(t)
	wantBytes(t, reads, want)
	wantContent(t, path, want)
}

// Bytes that the service refused are not the document's content.
func TestReadAfterAChangeWasRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*os.File) error{
		"written":   func(w *os.File) error { _, err := w.WriteAt([]byte("not to be kept"), 0); return err },
		"truncated": func(w *os.File) error { return w.Truncate(10) },
		"longer":    func(w *os.File) error { return w.Truncate(20_000) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{})
			before := strings.Repeat("A", 10_000)
			f.AddDocument(f.inbox, hostile.Document{Name: "a.txt", Content: []byte(before)})
			m, _ := f.slow(t)
			path := m.path("inboxes", "Administrator", "a.txt")
			f.Fault(hostile.Fault{Path: "/document/{id}/replace", Do: hostile.Answer(400, "")})
			rw := get(os.OpenFile(path, os.O_RDWR, 0))(t)
			wantBytes(t, rw, before) // the kernel has all of its pages
			must(t, change(rw))
			wantErrno(t, "close what is refused", rw.Close(), syscall.EINVAL)
			wantContent(t, path, before)
		})
	}
}
