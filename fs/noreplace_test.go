package fs_test

import (
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// unreplaceable is a service that cannot replace a document, with two in its inbox.
func unreplaceable(t *testing.T) *foreign {
	t.Helper()
	f := newForeign(t, hostile.Config{Without: []string{"POST /document/{id}/replace"}})
	for _, name := range []string{"a.txt", "b.txt"} {
		f.AddDocument(f.inbox, hostile.Document{Name: name, Content: []byte("alt"), Pages: 1})
	}
	return f
}

// The first replacement is refused at close. From then on files that are already open for writing
// are refused at their first write, which leaves nothing behind.
func TestTheFirstWriteIsRefusedWhereTheServiceCannotReplace(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*os.File) error{
		"write":    func(w *os.File) error { _, err := w.WriteString("neu"); return err },
		"truncate": func(w *os.File) error { return w.Truncate(0) },
	} {
		t.Run(name, func(t *testing.T) {
			f := unreplaceable(t)
			m := f.mount(t, nil)
			a, b := m.path("inboxes", "Administrator", "a.txt"), m.path("inboxes", "Administrator", "b.txt")
			w := get(os.OpenFile(b, os.O_RDWR, 0))(t)
			other := get(os.OpenFile(a, os.O_WRONLY|os.O_TRUNC, 0))(t) // nobody knows yet
			get(other.WriteString("neu"))(t)
			wantErrno(t, "the first close", other.Close(), syscall.EPERM)
			failed := len(m.uploads())
			wantErrno(t, "first write", change(w), syscall.EPERM)
			must(t, w.Close())
			for _, flags := range []int{os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND, os.O_RDWR} {
				_, err := os.OpenFile(b, flags, 0)
				wantErrno(t, "open", err, syscall.EPERM)
			}
			wantContent(t, b, "alt")
			if n := f.Count("POST", "/document/{id}/replace"); n != 1 {
				t.Errorf("asked %d times", n)
			}
			if n := len(m.uploads()); n != failed {
				t.Errorf("%d uploads more", n-failed)
			}
		})
	}
}

// A refusal in the background counts, too.
func TestAnOverwritingIsRefusedAfterOneThatWasQueued(t *testing.T) {
	t.Parallel()
	f := unreplaceable(t)
	m := f.mount(t, func(o *fs.Options) { o.Async = true })
	must(t, os.WriteFile(m.path("inboxes", "Administrator", "a.txt"), []byte("neu"), 0o600))
	heals(t, "the service refuses it", func() bool {
		all := m.uploads()
		return len(all) == 1 && all[0].State == "failed"
	})
	b := m.path("inboxes", "Administrator", "b.txt")
	_, err := os.OpenFile(b, os.O_WRONLY|os.O_TRUNC, 0)
	wantErrno(t, "open", err, syscall.EPERM)
	wantContent(t, b, "alt")
}

// forgetful is a service that is known for a while to be unable to replace.
type forgetful struct {
	anyArchive
	lacks atomic.Bool
}

type anyArchive interface{ fs.Archive }

func (f *forgetful) LacksReplace() bool { return f.lacks.Load() }

// A service that was brought up to date under a long mount is asked again.
func TestAServiceThatCannotReplaceIsAskedAgain(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.inbox, hostile.Document{Name: "a.txt", Content: []byte("alt"), Pages: 1})
	service := &forgetful{}
	m := f.mount(t, func(o *fs.Options) { service.anyArchive, o.Archive = o.Archive, service })
	path := m.path("inboxes", "Administrator", "a.txt")
	service.lacks.Store(true)
	wantErrno(t, "overwrite", overwrite(path), syscall.EPERM)
	wantErrno(t, "truncate", os.Truncate(path, 1), syscall.EPERM)
	wantErrno(t, "save with a backup", os.Rename(path, path+"~"), syscall.EPERM)
	must(t, os.WriteFile(path+".part", []byte("neu"), 0o600))
	wantErrno(t, "rename over it", os.Rename(path+".part", path), syscall.EPERM)
	service.lacks.Store(false)
	must(t, os.Rename(path+".part", path))
	if d, _ := f.Document(id); string(d.Content) != "neu" {
		t.Errorf("the service has %q", d.Content)
	}
}
