package fs_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// If the kernel has no epochs, names change when their time-outs end.
func TestNamesWithoutEpochs(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.bills, hostile.Document{Name: "before.txt", Content: []byte("1")})
	m := f.mount(t, func(o *fs.Options) { o.TTL = time.Second })
	m.fs.WithoutEpochs()
	before, after := m.path("Muster GmbH", "Rechnungen", "before.txt"), m.path("Muster GmbH", "Rechnungen", "after.txt")
	if !exists(before) || exists(after) {
		t.Fatal("the names are others than at the service")
	}
	f.Change(id, func(d *hostile.Document) { d.Name = "after.txt" })
	heals(t, "the names change", func() bool { return !exists(before) && exists(after) })
}

// ended fails the test unless the connection of the mount has ended, or does so soon.
func (m *mounted) ended() {
	m.t.Helper()
	select {
	case <-m.mount.Ended():
	case <-time.After(time.Minute):
		m.t.Fatal("the end of the connection is not noticed")
	}
}

// After an abort all programs that wait for the mount end at once, even while its service hangs.
// The rest of the mount disappears, and a new mount at the same place stays.
func TestConnectionEnds(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("1")})
	m := f.patient(t)
	gate := hostile.NewGate()
	defer gate.Open()
	f.Fault(hostile.Fault{Method: "POST", Path: "/folder/create", Times: hostile.Always, Do: hostile.StallBefore(gate)})
	cmd := run(t, "mkdir", m.path("Muster GmbH", "Neu"))
	<-gate.Arrived()
	m.mount.Abort()
	if err := ends(t, cmd); err == nil {
		t.Error("mkdir succeeds, although it was aborted")
	}
	m.ended()
	heals(t, "it is taken away", func() bool { return len(mountsBelow(filepath.Dir(m.dir))) == 0 })
	gate.Open()
	former := m.mount
	m.remount()
	former.Abort()
	must(t, former.Unmount(0))
	wantNames(t, m.path("Muster GmbH", "Rechnungen"), "a.txt")
}

// After an abort a file that was being written is not archived, and one that was closed is.
func TestAnAbortArchivesNoIncompleteFile(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	dir := m.path("Muster GmbH", "Rechnungen")
	must(t, os.WriteFile(filepath.Join(dir, "whole.txt"), []byte("whole"), 0o600))
	w := get(os.Create(filepath.Join(dir, "half.txt")))(t)
	defer w.Close() //nolint:errcheck // which fails
	get(io.WriteString(w, "half of"))(t)
	m.mount.Abort()
	m.ended()
	if _, err := io.WriteString(w, " it"); err == nil {
		t.Error("it can be written to although it was aborted")
	}
	m.remount()
	if docs := f.Documents(f.bills); len(docs) != 1 || docs[0].Name != "whole.txt" {
		t.Errorf("archived: %+v; want whole.txt", docs)
	}
	if ups := m.uploads(); len(ups) != 1 || ups[0].State != "failed" || filepath.Base(ups[0].Path) != "half.txt" {
		t.Errorf("uploads: %+v; want half.txt as failed", ups)
	}
}
