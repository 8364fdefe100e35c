package fs_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// heals waits until ok returns true, because the kernel is notified outside of requests, and
// uploads take a moment. The limit is shorter than any time-out of a cache while the service is
// there.
func heals(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	for wait := time.Millisecond; !ok(); wait = min(2*wait, 50*time.Millisecond) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			t.Fatalf("%s: not within 40 s", what)
		}
	}
}

// offline mounts the archive of a service, lists it, and mounts it again with the line cut.
func (f *foreign) offline(t *testing.T, tweak func(*fs.Options), look func(*mounted)) (*mounted, *line) {
	t.Helper()
	l, address := newLine(t, f.url)
	m := mount(t, address, f.cred, tweak)
	wantNames(t, m.path("Muster GmbH"), "Briefe", "Rechnungen")
	look(m)
	m.unmount()
	l.cut()
	m.remount()
	return m, l
}

func TestStartWhileTheServiceIsAway(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "read.txt", Content: []byte("read before"), Pages: 1})
	f.AddDocument(f.bills, hostile.Document{Name: "listed.txt", Content: []byte("listed before"), Pages: 1})
	f.AddDocument(f.letters, hostile.Document{Name: "unknown.txt", Content: []byte("unknown"), Pages: 1})
	f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("scan"), Pages: 1})
	m, l := f.offline(t, nil, func(m *mounted) {
		wantNames(t, m.path("Muster GmbH", "Rechnungen"), "listed.txt", "read.txt")
		wantContent(t, m.path("Muster GmbH", "Rechnungen", "read.txt"), "read before")
		wantNames(t, m.path("inboxes", "Administrator"), "scan.txt")
	})
	if away := m.fs.Away(); away == nil || !strings.Contains(away.Text, "connection refused") || m.fs.Status().Health != "away" {
		t.Errorf("away is %v, health %s", away, m.fs.Status().Health)
	}
	bills, letters := m.path("Muster GmbH", "Rechnungen"), m.path("Muster GmbH", "Briefe")

	wantNames(t, m.dir, "Muster GmbH", "inboxes")
	wantNames(t, m.path("Muster GmbH"), "Briefe", "Rechnungen")
	wantNames(t, m.path("inboxes"), "Administrator")
	wantNames(t, m.path("inboxes", "Administrator"), "scan.txt")
	wantNames(t, bills, "listed.txt", "read.txt")
	wantContent(t, filepath.Join(bills, "read.txt"), "read before")
	_, err := os.ReadFile(filepath.Join(bills, "listed.txt"))
	wantErrno(t, "read what was listed alone", err, syscall.EIO)
	_, err = os.ReadDir(letters)
	wantErrno(t, "list what is not known", err, syscall.EIO)
	_, err = os.Stat(filepath.Join(letters, "unknown.txt"))
	wantErrno(t, "look for a name where no list is known", err, syscall.EIO)
	_, err = os.Stat(filepath.Join(bills, "late.txt"))
	wantErrno(t, "look for a name that is not listed", err, syscall.ENOENT)
	err = os.WriteFile(filepath.Join(bills, "new.txt"), []byte("new"), 0o600)
	wantErrno(t, "archive", err, syscall.EIO)
	err = os.Mkdir(filepath.Join(bills, "new"), 0o700)
	wantErrno(t, "make a folder", err, syscall.EIO)
	if docs := f.Documents(f.bills); len(docs) != 2 {
		t.Errorf("documents: %v", docs)
	}

	f.AddDocument(f.bills, hostile.Document{Name: "late.txt", Content: []byte("late"), Pages: 1})
	l.mend()
	heals(t, "a name that was not there", func() bool {
		got, err := os.ReadFile(filepath.Join(bills, "late.txt"))
		return err == nil && string(got) == "late"
	})
	heals(t, "a folder that was not known", func() bool {
		got, err := os.ReadDir(letters)
		return err == nil && len(got) == 1
	})
	wantContent(t, filepath.Join(bills, "listed.txt"), "listed before")
	must(t, os.WriteFile(filepath.Join(letters, "new.txt"), []byte("new"), 0o600))
	if m.fs.Away() != nil {
		t.Errorf("away is %v", m.fs.Away())
	}
}

// Unnoticed renames, deletions and additions show once the service is back, even in a directory
// that a program keeps open.
func TestKnownListingsAreCorrected(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "stays.txt", Content: []byte("1"), Pages: 1})
	gone := f.AddDocument(f.bills, hostile.Document{Name: "goes.txt", Content: []byte("2"), Pages: 1})
	m, l := f.offline(t, nil, func(m *mounted) {
		wantNames(t, m.path("Muster GmbH", "Rechnungen"), "goes.txt", "stays.txt")
	})
	bills := m.path("Muster GmbH", "Rechnungen")
	wantNames(t, bills, "goes.txt", "stays.txt")
	f.Remove(gone)
	f.AddDocument(f.bills, hostile.Document{Name: "comes.txt", Content: []byte("3"), Pages: 1})
	l.mend()
	heals(t, "the name of a document that is gone", func() bool {
		_, err := os.Stat(filepath.Join(bills, "goes.txt"))
		return errors.Is(err, syscall.ENOENT)
	})
	wantNames(t, bills, "comes.txt", "stays.txt")
}

// Names and cached contents depend on the representations of the service, so these are remembered.
func TestStartAwayFromAServiceWithoutOriginals(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{Content: hostile.ContentShape{OriginalStatus: 501}, List: hostile.ListShape{Sizes: true}})
	f.AddDocument(f.bills, hostile.Document{Name: "Brief", Content: []byte("original"), PDF: []byte(onePDF), ContentType: "text/plain", Pages: 1})
	look := func(m *mounted) {
		wantNames(t, m.path("Muster GmbH", "Rechnungen"), "Brief.pdf")
		wantContent(t, m.path("Muster GmbH", "Rechnungen", "Brief.pdf"), onePDF)
	}
	m, _ := f.offline(t, nil, look)
	look(m)
}

func TestStartAwayKnowsOnlyWhatWasListedSo(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("1"), Pages: 1})
	var include []string
	m, _ := f.offline(t, func(o *fs.Options) { o.List.IncludeMetadata = include }, func(m *mounted) {
		wantNames(t, m.path("Muster GmbH", "Rechnungen"), "a.txt")
		include = []string{"Betrag"}
	})
	wantNames(t, m.dir, "Muster GmbH", "inboxes")
	get(os.Stat(m.path("Muster GmbH", "Rechnungen")))(t)
	_, err := os.ReadDir(m.path("Muster GmbH", "Rechnungen"))
	wantErrno(t, "list documents that were asked for with other metadata", err, syscall.EIO)
}

func TestStartAwayWithNothingKnown(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	l, address := newLine(t, f.url)
	m := mount(t, address, f.cred, nil)
	m.unmount()
	must(t, os.RemoveAll(filepath.Join(m.state, "known.db")))
	l.cut()
	if err := m.open(); err == nil || m.mount != nil {
		t.Errorf("mounted an archive that nothing is known of: %v", err)
	}
}

// A service that accepts connections and never answers costs one long wait, not one for each call.
func TestAServiceThatFallsSilent(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("1"), Pages: 1})
	l, address := newLine(t, f.url)
	m := mount(t, address, f.cred, func(o *fs.Options) { o.TTL = time.Millisecond })
	m.stall = 5 * time.Second // and no machine is so busy
	m.remount()
	wantNames(t, m.path("Muster GmbH", "Rechnungen"), "a.txt")
	l.silence()
	for range 50 { // would be minutes one by one
		wantNames(t, m.path("Muster GmbH", "Rechnungen"), "a.txt")
		_, err := os.ReadDir(m.path("Muster GmbH", "Briefe"))
		if !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ETIMEDOUT) {
			t.Fatalf("list what is not known: %v", err)
		}
	}
	l.speak()
	heals(t, "a folder that was not known", func() bool {
		_, err := os.ReadDir(m.path("Muster GmbH", "Briefe"))
		return err == nil
	})
	out := exec.CommandContext(t.Context(), "cat", m.path("Muster GmbH", "Rechnungen", "a.txt"))
	if got, err := out.Output(); err != nil || string(got) != "1" {
		t.Errorf("read %q, %v", got, err)
	}
}

// An upload that was in flight when the process was killed is looked for as soon as the service
// answers, and not given up because it was away at the start.
func TestCutOffUploadWaitsForTheService(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(*hostile.Gate) hostile.Action
		want []string // in the archive
		left int      // failed uploads
	}{
		"arrived":     {hostile.StallAfter, []string{"a.txt=Inhalt"}, 0},
		"not arrived": {hostile.StallBefore, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{})
			l, address := newLine(t, f.url)
			m := mount(t, address, f.cred, nil)
			path := m.path("Muster GmbH", "Briefe", "a.txt")
			names(t, filepath.Dir(path))
			gate := hostile.NewGate()
			f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: 1, Do: tt.do(gate)})
			closed := make(chan struct{})
			go func() {
				defer close(closed)
				_ = os.WriteFile(path, []byte("Inhalt"), 0o600) // the result does not matter: the crash comes first
			}()
			<-gate.Arrived()
			crashed := m.spoolNow()
			l.cut()
			<-closed
			m.remountAfter(crashed)
			if ups := m.uploads(); len(ups) != 1 || ups[0].State != "pending" {
				t.Errorf("while the service is away: %+v", ups)
			}
			gate.Open()
			l.mend()
			heals(t, "it is found out", func() bool { return len(m.pending()) == 0 })
			if ups := m.uploads(); len(ups) != tt.left {
				t.Errorf("uploads: %+v", ups)
			}
			f.wantHolds(t, f.letters, tt.want...)
			wantNames(t, filepath.Dir(path), slices.Repeat([]string{"a.txt"}, len(tt.want))...)
		})
	}
}
