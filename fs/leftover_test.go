package fs_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

func TestOldTemporaryFilesAreForgotten(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	var days atomic.Int64 // that have passed
	m := o.mount(t, func(opts *fs.Options) {
		opts.Now = func() time.Time { return time.Now().AddDate(0, 0, int(days.Load())) }
	})
	dir := m.path("Muster GmbH", "Briefe")
	must(t, os.Mkdir(filepath.Join(dir, ".Trash-0"), 0o700))
	for _, name := range []string{"a.txt.part", "leer.txt", ".Trash-0/b.txt"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("x", len(name)%8)), 0o600))
	}
	days.Store(6)
	m.remount()
	wantNames(t, dir, "a.txt.part", "leer.txt", ".Trash-0")
	days.Store(8)
	m.remount()
	wantNames(t, dir, "leer.txt")
	if left := m.uploads(); len(left) > 1 {
		t.Errorf("the spool still holds %+v", left)
	}
}

// spoolNow copies the spool as a crash at this moment would leave it.
func (m *mounted) spoolNow() string {
	m.t.Helper()
	for {
		crashed := filepath.Join(m.t.TempDir(), "spool")
		err := os.CopyFS(crashed, os.DirFS(filepath.Join(m.state, "spool")))
		if errors.Is(err, os.ErrNotExist) { // a file was removed during the copy
			continue
		}
		must(m.t, err)
		return crashed
	}
}

// remountAfter mounts again after the crash that left the spool.
func (m *mounted) remountAfter(crashed string) {
	m.t.Helper()
	m.unmount()
	must(m.t, os.RemoveAll(filepath.Join(m.state, "spool")))
	must(m.t, os.Rename(crashed, filepath.Join(m.state, "spool")))
	m.remount()
}

// Whenever the program is killed while a temporary file gets the name of a document, the next mount has that
// document as it was, and the file under its temporary name or among the failed uploads.
func TestACrashWhileATemporaryFileGetsADocumentsName(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		dir  []string
		from string
		mark time.Time // as rsync marks what it had got to
	}{
		"over an inbox document":      {[]string{"inboxes", "Administrator"}, "brief.txt.part", time.Now()},
		"in a folder":                 {[]string{"Muster GmbH", "Briefe"}, "brief.txt.part", time.Now()},
		"in a folder, half of a file": {[]string{"Muster GmbH", "Briefe"}, ".brief.txt.Ab3xYz", time.Unix(0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, hostile.Config{})
			f.AddDocument(f.inbox, hostile.Document{Name: "brief.txt", Content: []byte("alt")})
			m := &mounted{baseURL: f.url, cred: f.cred}
			var renaming atomic.Bool
			crashes := make(chan string, 100)
			m.fault = func(spool.Point) error {
				if renaming.Load() {
					crashes <- m.spoolNow()
				}
				return nil
			}
			m.begin(t)
			at := m.path(tt.dir...)
			from, to := filepath.Join(at, tt.from), filepath.Join(at, "brief.txt")
			must(t, first(put(from, "neu"), os.Chtimes(from, tt.mark, tt.mark)))
			f.Fault(hostile.Fault{Method: "POST", Do: hostile.Answer(400, "no")})
			renaming.Store(true)
			err := os.Rename(from, to)
			renaming.Store(false)
			if tt.mark.Unix() != 0 {
				wantErrno(t, "rename", err, syscall.EPERM)
			}
			if len(crashes) < 4 {
				t.Fatalf("%d steps", len(crashes))
			}
			for i := range len(crashes) {
				m.remountAfter(<-crashes)
				shown := names(t, at)
				heals(t, "it is decided", func() bool { return len(m.pending()) == 0 })
				failed := m.uploads()
				if local := slices.Contains(shown, tt.from); local == (len(failed) == 1) || len(failed) > 1 {
					t.Errorf("step %d: %q, and the uploads %+v", i, shown, failed)
				}
				if slices.Contains(shown, "brief.txt") && attr(t, to, "state") == "local" {
					t.Errorf("step %d: %+v is local under the name of a document", i, failed)
				}
				if tt.dir[0] == "inboxes" {
					wantContent(t, to, "alt")
				}
			}
		})
	}
}

// A crash: the state directory is opened again as it was at that moment.
func TestMountAfterACrash(t *testing.T) {
	o := newOffice(t, nil)
	o.put(t, o.inbox, "scan.txt", "alt")
	m := o.mount(t, nil)
	dir, in := m.path("Muster GmbH", "Briefe"), m.path("inboxes", "Administrator")
	must(t, os.WriteFile(filepath.Join(dir, "fertig.txt"), []byte("fertig"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "a.pdf.part"), []byte("lokal"), 0o600))
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, os.Chtimes(filepath.Join(dir, "a.pdf.part"), old, old))
	w := get(os.Create(filepath.Join(dir, "halb.txt")))(t)
	get(w.WriteString("halb"))(t)
	must(t, w.Sync())
	r := get(os.OpenFile(filepath.Join(in, "scan.txt"), os.O_WRONLY|os.O_APPEND, 0))(t)
	get(r.WriteString(" und halb"))(t)
	must(t, r.Sync())
	crashed := m.spoolNow()
	must(t, w.Close())
	must(t, r.Close())
	m.unmount()
	wantArchived(t, o, o.letters, "fertig.txt=fertig", "halb.txt=halb")
	m.remountAfter(crashed)
	wantNames(t, dir, "a.pdf.part", "fertig.txt", "halb.txt")
	if info := get(os.Stat(filepath.Join(dir, "a.pdf.part")))(t); !info.ModTime().Equal(old) || info.Size() != 5 {
		t.Errorf("the local file is of %v, %d bytes", info.ModTime(), info.Size())
	}
	ups := m.uploads()
	if len(ups) != 2 {
		t.Fatalf("uploads: %+v", ups)
	}
	for _, up := range ups {
		if up.State != "failed" || !strings.Contains(up.Error, "never closed") {
			t.Errorf("after a crash: %+v", up)
		}
		kept := m.path(".archivefs", "uploads", up.ID+" "+filepath.Base(up.Path))
		want := map[string]string{"halb.txt": "halb", "scan.txt": "alt und halb"}[filepath.Base(up.Path)]
		wantContent(t, kept, want)
		sh(t, m, `python3 -c 'import os,sys; assert os.getxattr(sys.argv[1], "user.archive.state")==b"failed"; assert b"never closed" in os.getxattr(sys.argv[1], "user.archive.error")' "`+kept+`"`)
		wantErrno(t, "truncate a kept file", os.Truncate(kept, 0), syscall.EPERM)
		wantContent(t, kept, want)
	}
	must(t, os.Rename(filepath.Join(dir, "a.pdf.part"), filepath.Join(dir, "a.txt")))
	wantArchived(t, o, o.letters, "fertig.txt=fertig", "halb.txt=halb", "a.txt=lokal")
	m.remount()
	if info := get(os.Stat(filepath.Join(dir, "a.txt")))(t); !info.ModTime().Equal(old) {
		t.Errorf("the time after a fresh mount is %v", info.ModTime())
	}
}

// A file that was removed while open does not come back, and its open handles still work.
func TestRemovedWhileOpenAndACrash(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	var open []*os.File
	for name, gone := range map[string]func(path string) error{
		"entfernt.txt": os.Remove,
		"ersetzt.pdf.part": func(path string) error {
			other := filepath.Join(dir, "anders.pdf.part")
			if err := os.WriteFile(other, []byte("anders"), 0o600); err != nil {
				return err
			}
			return os.Rename(other, path)
		},
	} {
		f := get(os.Create(filepath.Join(dir, name)))(t)
		get(f.WriteString("Entwurf"))(t)
		must(t, f.Sync())
		must(t, gone(f.Name()))
		open = append(open, f)
	}
	crashed := m.spoolNow()
	for _, f := range open {
		get(f.WriteString(" und mehr"))(t)
		must(t, f.Truncate(15))
		must(t, f.Chmod(0o644))
		now := syscall.NsecToTimeval(time.Now().UnixNano())
		must(t, syscall.Futimes(int(f.Fd()), []syscall.Timeval{now, now}))
		must(t, xattr.FSet(f, "user.archive.keywords", []byte("rot")))
		if got := string(get(io.ReadAll(io.NewSectionReader(f, 0, 100)))(t)); got != "Entwurf und meh" {
			t.Errorf("%s holds %q", f.Name(), got)
		}
		again := get(os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd())))(t)
		must(t, again.Close())
		must(t, f.Close())
	}
	wantNames(t, dir, "ersetzt.pdf.part")
	m.remountAfter(crashed)
	wantNames(t, dir, "ersetzt.pdf.part")
	wantContent(t, filepath.Join(dir, "ersetzt.pdf.part"), "anders")
	if ups := m.uploads(); len(ups) != 0 {
		t.Errorf("uploads: %+v", ups)
	}
	wantArchived(t, o, o.letters)
}

// A file that its own writer had removed is not a failed upload when the writer is killed.
func TestRemovedByAWriterThatIsKilled(t *testing.T) {
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	sh(t, m, `python3 -c 'import os,sys; f=open(sys.argv[1],"wb",0); f.write(b"x"); os.remove(sys.argv[1]); os.kill(os.getpid(),9)' "$1/Muster GmbH/Briefe/a.txt" || test $? = 137`)
	wantNames(t, m.path("Muster GmbH", "Briefe"))
	if s := m.fs.Status(); len(s.Uploads.List) != 0 || len(s.LastErrors) != 0 {
		t.Errorf("uploads %+v, last error %+v", s.Uploads.List, s.LastErrors)
	}
}
