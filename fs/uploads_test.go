package fs_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// away is a mount whose service goes away after a first listing.
func away(t *testing.T) *async {
	t.Helper()
	a := newAsync(t, hostile.Config{}, func(f *foreign) {
		f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("alt")})
	})
	wantContent(t, filepath.Join(a.inbox, "scan.txt"), "alt")
	a.goesAway(t)
	return a
}

// goesAway cuts the line to the service, which has an inbox document scan.txt, and returns when the
// mount has noticed.
func (a *async) goesAway(t *testing.T) {
	t.Helper()
	a.line.cut()
	if _, err := xattr.Get(filepath.Join(a.inbox, "scan.txt"), "user.archive.data"); err == nil {
		t.Error("the service answers")
	}
}

// discards discards the upload of a path, as soon as it is not being sent.
func (m *mounted) discards(path string) {
	m.t.Helper()
	kept := m.kept(m.upload(path))
	heals(m.t, "it can be discarded", func() bool {
		err := os.Remove(kept)
		if err != nil {
			wantErrno(m.t, "discard", err, syscall.EBUSY)
		}
		return err == nil
	})
}

// upload returns the upload of that path.
func (m *mounted) upload(path string) fs.UploadInfo {
	m.t.Helper()
	for _, u := range m.uploads() {
		if u.Path == path {
			return u
		}
	}
	m.t.Fatalf("no upload of %s in %+v", path, m.uploads())
	return fs.UploadInfo{}
}

// The control directory shows the bytes of all files that are not archived, and of nothing else.
func TestUploadsDirectory(t *testing.T) {
	t.Parallel()
	a := away(t)
	write(t, filepath.Join(a.letters, "a.txt"), "pending")
	write(t, filepath.Join(a.letters, "leer.txt"), "")
	write(t, filepath.Join(a.letters, "x.pdf.part"), "local")
	write(t, filepath.Join(a.inbox, "scan.txt"), "neu")
	long := strings.Repeat("ä", 120) + ".txt"
	write(t, filepath.Join(a.letters, long), "long")
	must(t, os.Mkdir(a.path("Muster GmbH", "Neu"), 0o700))
	write(t, a.path("Muster GmbH", "Neu", "b.txt"), "in a folder")
	wantErrno(t, "half a PDF", os.WriteFile(filepath.Join(a.letters, "halb.pdf"), []byte("%PDF-1.7\nhalf"), 0o600), syscall.EIO)

	dir := a.path(".archivefs", "uploads")
	content := map[string]string{
		"Muster GmbH/Briefe/a.txt": "pending", "inboxes/Administrator/scan.txt": "neu", "Muster GmbH/Briefe/" + long: "long",
		"Muster GmbH/Neu": "", "Muster GmbH/Neu/b.txt": "in a folder", "Muster GmbH/Briefe/halb.pdf": "%PDF-1.7\nhalf",
	}
	want := []string{}
	for path, text := range content {
		u := a.upload(path)
		name := u.ID + " " + filepath.Base(path)
		if len(name) > 255 {
			name = u.ID + " " + strings.Repeat("ä", 119) + ".txt"
		}
		want = append(want, name)
		wantContent(t, filepath.Join(dir, name), text)
		if got := attr(t, filepath.Join(dir, name), "state"); got != u.State || u.State != map[bool]string{true: "failed", false: "pending"}[text == "%PDF-1.7\nhalf"] {
			t.Errorf("%s is %s, its attribute says %s", path, u.State, got)
		}
		wantErrno(t, "write", os.WriteFile(filepath.Join(dir, name), nil, 0o600), syscall.EPERM)
	}
	wantNames(t, dir, want...)
	open := get(os.Open(a.kept(a.upload("Muster GmbH/Briefe/a.txt"))))(t)
	a.line.mend()
	a.sends()
	if got := string(get(io.ReadAll(open))(t)); got != "pending" {
		t.Errorf("who has it open while it is archived reads %q", got)
	}
	must(t, open.Close())
	wantNames(t, dir, a.uploads()[0].ID+" halb.pdf")
	wantContent(t, filepath.Join(a.inbox, "scan.txt"), "neu")
}

// A discarded upload is never archived, and its name is free.
func TestDiscard(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		path string // in the mount
		do   func(t *testing.T, a *async, path string)
		then string // expected content
	}{
		"pending": {"Muster GmbH/Briefe/a.txt", func(t *testing.T, a *async, path string) {
			write(t, path, "Inhalt")
		}, ""},
		"of another mount": {"Muster GmbH/Briefe/a.txt", func(t *testing.T, a *async, path string) {
			write(t, path, "Inhalt")
			a.remount()
			names(t, filepath.Dir(path))
		}, ""},
		"of a folder that nobody looked at": {"Muster GmbH/Briefe/a.txt", func(t *testing.T, a *async, path string) {
			write(t, path, "Inhalt")
			a.remount()
		}, ""},
		"failed": {"Muster GmbH/Briefe/a.pdf", func(t *testing.T, a *async, path string) {
			wantErrno(t, "close", os.WriteFile(path, []byte("%PDF-1.7"), 0o600), syscall.EIO)
		}, ""},
		"new bytes of a document": {"inboxes/Administrator/scan.txt", func(t *testing.T, a *async, path string) {
			write(t, path, "neu")
			wantContent(t, path, "neu")
		}, "alt"},
		"in a folder that is not made": {"Muster GmbH/Neu/a.txt", func(t *testing.T, a *async, path string) {
			must(t, os.Mkdir(filepath.Dir(path), 0o700))
			write(t, path, "Inhalt")
		}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := away(t)
			path := a.path(tt.path)
			tt.do(t, a, path)
			a.discards(tt.path)
			heals(t, "the kernel knows", func() bool { return exists(path) == (tt.then != "") })
			if a.has(tt.path) {
				t.Errorf("uploads: %+v", a.uploads())
			}
			a.line.mend()
			a.sends()
			if tt.then != "" {
				heals(t, "the document is what it was", func() bool { b, err := os.ReadFile(path); return err == nil && string(b) == tt.then })
			}
			a.wantHolds(t, a.foreign.letters)
			a.wantHolds(t, a.foreign.inbox, "scan.txt=alt")
			heals(t, "the name is free", func() bool { return os.WriteFile(path, []byte("anew %%EOF"), 0o600) == nil })
			a.sends()
			wantContent(t, path, "anew %%EOF")
			if ups := a.uploads(); len(ups) != 0 {
				t.Errorf("uploads: %+v", ups)
			}
		})
	}
}

// An upload that the archive may already have cannot be discarded.
func TestDiscardWhileItIsSent(t *testing.T) {
	t.Parallel()
	a := newAsync(t, hostile.Config{})
	gate := hostile.NewGate()
	a.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Do: hostile.StallAfter(gate)})
	write(t, filepath.Join(a.letters, "a.txt"), "Inhalt")
	<-gate.Arrived()
	wantErrno(t, "discard", os.Remove(a.kept(a.uploads()[0])), syscall.EBUSY)
	gate.Open()
	heals(t, "it is archived", func() bool { return len(a.uploads()) == 0 })
	a.wantHolds(t, a.foreign.letters, "a.txt=Inhalt")
}

// Open handles of a discarded file get an error, and nothing of it is archived.
func TestDiscardWhileItIsOpen(t *testing.T) {
	t.Parallel()
	a := away(t)
	path := filepath.Join(a.letters, "a.txt")
	write(t, path, "Inhalt")
	w := get(os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0))(t)
	a.discards("Muster GmbH/Briefe/a.txt")
	if _, err := w.WriteString("mehr"); err == nil {
		t.Error("written to what is gone")
	}
	_ = w.Close() // whatever it says
	a.line.mend()
	heals(t, "the name is free", func() bool { return os.WriteFile(path, []byte("anew"), 0o600) == nil })
	a.sends()
	a.wantHolds(t, a.foreign.letters, "a.txt=anew")
}

// A temporary file whose writer was killed is kept, and not archived under that name.
func TestRetryOfATemporaryFile(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	sh(t, m, `python3 -c 'import os,sys; fd=os.open(sys.argv[1],os.O_CREAT|os.O_WRONLY); os.write(fd,b"x"); os.kill(os.getpid(),9)' "$1/Muster GmbH/Briefe/x.pdf.part" || true`)
	heals(t, "it fails", func() bool { return len(m.uploads()) == 1 })
	wantErrno(t, "retry", m.retryNow(m.uploads()[0]), syscall.EPERM)
	m.unmount()
	f.wantHolds(t, f.letters)
}

// asItIs sends an incomplete upload.
func (m *mounted) asItIs(u fs.UploadInfo) error {
	return xattr.Set(m.kept(u), "user.archive.retry", []byte("incomplete"))
}

// An unfinished file is sent only on request, and an empty one never.
func TestRetryOfAnUnfinishedFile(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	killed, empty := get(os.Create(filepath.Join(dir, "halb.txt")))(t), get(os.Create(filepath.Join(dir, "leer.txt")))(t)
	get(killed.WriteString("halb"))(t)
	crashed := m.spoolNow()
	must(t, os.Remove(killed.Name()))
	must(t, errors.Join(killed.Close(), empty.Close()))
	m.remountAfter(crashed)
	half, nothing := m.upload("Muster GmbH/Briefe/halb.txt"), m.upload("Muster GmbH/Briefe/leer.txt")
	for _, u := range []fs.UploadInfo{half, nothing} {
		if !u.Incomplete || u.State != "failed" {
			t.Errorf("%+v", u)
		}
		wantErrno(t, "retry of "+u.Path, m.retryNow(u), syscall.EPERM)
	}
	wantErrno(t, "retry of an empty file as it is", m.asItIs(nothing), syscall.EPERM)
	f.wantHolds(t, f.letters)
	must(t, m.asItIs(half))
	heals(t, "it is archived", func() bool { return len(m.uploads()) == 1 })
	f.wantHolds(t, f.letters, "halb.txt=halb")
}

// Retrying a folder sends the complete files in it, and nothing else.
func TestRetryOfAFolderWithAnIncompleteFile(t *testing.T) {
	t.Parallel()
	a := newAsync(t, hostile.Config{})
	a.Fault(hostile.Fault{Method: "POST", Path: "/folder/create", Times: 1, Do: hostile.Answer(400, "not today")})
	a.line.cut()
	must(t, os.Mkdir(a.path("Muster GmbH", "Neu"), 0o700))
	write(t, a.path("Muster GmbH", "Neu", "ganz.txt"), "ganz")
	a.line.mend()
	heals(t, "the folder fails", func() bool { return a.upload("Muster GmbH/Neu/ganz.txt").State == "failed" })
	wantErrno(t, "close in it", os.WriteFile(a.path("Muster GmbH", "Neu", "spät.txt"), []byte("spät"), 0o600), syscall.EIO)
	wantErrno(t, "close of half a PDF in it", os.WriteFile(a.path("Muster GmbH", "Neu", "halb.pdf"), []byte("%PDF-1.7 halb"), 0o600), syscall.EIO)
	late, half := a.upload("Muster GmbH/Neu/spät.txt"), a.upload("Muster GmbH/Neu/halb.pdf")
	if late.Incomplete || !half.Incomplete || !strings.Contains(half.Error, "end of the file is missing") {
		t.Errorf("late %+v, half %+v", late, half)
	}
	wantErrno(t, "retry of half a PDF", a.retryNow(half), syscall.EPERM)
	must(t, a.retryNow(late))
	a.sends()
	a.wantTree(t, "Neu/", "Neu/ganz.txt=ganz", "Neu/spät.txt=spät")
}
