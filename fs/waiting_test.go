package fs_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// refused is a service that refuses every upload, and its mount with one refused upload.
func refused(t *testing.T) (f *foreign, m *mounted, path string) {
	t.Helper()
	f = newForeign(t, hostile.Config{})
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: hostile.Always, Do: hostile.Answer(413, "too large")})
	m = f.mount(t, nil)
	path = m.path("Muster GmbH", "Briefe", "a.txt")
	wantErrno(t, "close", os.WriteFile(path, []byte("Inhalt"), 0o600), syscall.EFBIG)
	wantNames(t, filepath.Dir(path))
	return f, m, path
}

// retry sends the only upload again.
func (m *mounted) retryUpload() {
	m.t.Helper()
	name := m.uploads()[0].ID + " a.txt"
	must(m.t, xattr.Set(m.path(".archivefs", "uploads", name), "user.archive.retry", []byte("true")))
}

// A retried file shows at once in its folder, which was listed before, whatever the outcome.
func TestRetriedFileShowsInItsFolder(t *testing.T) {
	t.Parallel()
	f, m, path := refused(t)
	if exists(path) { // the kernel remembers that
		t.Error("a refused file is shown")
	}
	m.retryUpload()
	heals(t, "it shows", func() bool { return exists(path) })
	wantNames(t, filepath.Dir(path), "a.txt")
	wantContent(t, path, "Inhalt")
	heals(t, "it fails again", func() bool { return m.uploads()[0].State == "failed" })
	wantNames(t, filepath.Dir(path), "a.txt")
	f.ClearFaults()
	m.retryUpload()
	heals(t, "it is archived", func() bool { return len(m.uploads()) == 0 })
	wantNames(t, filepath.Dir(path), "a.txt")
	if n := f.named(f.letters, "a.txt", "Inhalt"); n != 1 {
		t.Errorf("archived %d times", n)
	}
}

// A file whose retry was in flight when the process stopped, and fails in the next run, is always
// shown there.
func TestRetriedFileShowsAfterACrash(t *testing.T) {
	t.Parallel()
	f, m, path := refused(t)
	f.ClearFaults()
	gate := hostile.NewGate()
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: 1, Do: hostile.StallBefore(gate)})
	m.retryUpload()
	<-gate.Arrived()
	crashed := m.spoolNow()
	gate.Open()
	m.unmount()
	for _, d := range f.Documents(f.letters) {
		f.Remove(d.ID)
	}
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: hostile.Always, Do: hostile.Answer(413, "too large")})
	m.remountAfter(crashed)
	wantNames(t, filepath.Dir(path), "a.txt")
	heals(t, "it fails", func() bool { ups := m.uploads(); return len(ups) == 1 && ups[0].State == "failed" })
	wantNames(t, filepath.Dir(path), "a.txt")
	wantContent(t, path, "Inhalt")
}

// Refused new bytes of a document are not shown beside it while they are retried, and become its
// content in the end.
func TestRetriedReplacement(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.inbox, hostile.Document{Name: "a.txt", Content: []byte("alt")})
	m := f.mount(t, nil)
	path := m.path("inboxes", "Administrator", "a.txt")
	f.Fault(hostile.Fault{Method: "POST", Path: "/document/{id}/replace", Times: 1, Do: hostile.Answer(400, "not today")})
	wantErrno(t, "close", os.WriteFile(path, []byte("neu"), 0o600), syscall.EINVAL)
	wantContent(t, path, "alt")
	m.retryUpload()
	heals(t, "the document has them", func() bool { return string(get(os.ReadFile(path))(t)) == "neu" })
	wantNames(t, filepath.Dir(path), "a.txt")
	if n := f.named(f.inbox, "a.txt", "neu"); n != 1 {
		t.Errorf("the inbox holds %+v", f.Documents(f.inbox))
	}
}
