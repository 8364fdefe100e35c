package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/fs"
)

func TestOldTemporaryFilesAreForgotten(t *testing.T) {
	o := newOffice(t, nil)
	var days atomic.Int64 // gone by
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

// What a crash leaves: the state directory is opened again as it was at that moment.
func TestMountAfterACrash(t *testing.T) {
	o := newOffice(t, nil)
	o.put(t, o.inbox, "scan.txt", "alt")
	m := o.mount(t, nil)
	dir, in := m.path("Muster GmbH", "Briefe"), m.path("inboxes", "Administrator")
	must(t, os.WriteFile(filepath.Join(dir, "fertig.txt"), []byte("fertig"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "a.part"), []byte("lokal"), 0o600))
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, os.Chtimes(filepath.Join(dir, "a.part"), old, old))
	w := get(os.Create(filepath.Join(dir, "halb.txt")))(t)
	get(w.WriteString("halb"))(t)
	must(t, w.Sync())
	r := get(os.OpenFile(filepath.Join(in, "scan.txt"), os.O_WRONLY|os.O_APPEND, 0))(t)
	get(r.WriteString(" und halb"))(t)
	must(t, r.Sync())
	crashed := filepath.Join(t.TempDir(), "spool")
	must(t, os.CopyFS(crashed, os.DirFS(filepath.Join(m.state, "spool"))))
	must(t, w.Close())
	must(t, r.Close())
	m.unmount()
	wantArchived(t, o, o.letters, "fertig.txt=fertig", "halb.txt=halb")
	must(t, os.RemoveAll(filepath.Join(m.state, "spool")))
	must(t, os.Rename(crashed, filepath.Join(m.state, "spool")))

	m.remount()
	wantNames(t, dir, "a.part", "fertig.txt", "halb.txt")
	if info := get(os.Stat(filepath.Join(dir, "a.part")))(t); !info.ModTime().Equal(old) || info.Size() != 5 {
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
	must(t, os.Rename(filepath.Join(dir, "a.part"), filepath.Join(dir, "a.txt")))
	wantArchived(t, o, o.letters, "fertig.txt=fertig", "halb.txt=halb", "a.txt=lokal")
	m.remount()
	if info := get(os.Stat(filepath.Join(dir, "a.txt")))(t); !info.ModTime().Equal(old) {
		t.Errorf("the time after a fresh mount is %v", info.ModTime())
	}
}
