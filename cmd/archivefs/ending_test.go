package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// busy is a mount that accepts files faster than its archive takes them.
type busy struct {
	t          *testing.T
	office     *office
	gate       *gate
	dir, state string
	program    *program
}

// newBusy mounts, with standard error on a terminal where there is one, and puts files in
// that the gate holds back.
func newBusy(t *testing.T, terminal *os.File, files ...string) *busy {
	t.Helper()
	fusetest.Need(t)
	isolate(t)
	b := &busy{t: t, office: startOffice(t), dir: t.TempDir(), state: filepath.Join(t.TempDir(), "state")}
	b.gate = newGate(t, b.office.url)
	b.mount(terminal)
	for _, name := range files {
		if err := os.WriteFile(b.path(name), []byte("Guten Tag"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// mount mounts with what the last mount left.
func (b *busy) mount(terminal *os.File, more ...string) {
	b.t.Helper()
	b.program = startMountOn(b.t, terminal, b.dir, append([]string{
		"--base-url", b.gate.url, "--api-key-file", filepath.Join(b.office.data, "api-key"), "--state-dir", b.state,
		"--writes", "async",
	}, more...)...)
	b.program.line("mounted " + b.gate.url + " at " + b.dir)
}

// path is a file in the mount.
func (b *busy) path(name string) string { return filepath.Join(b.dir, "My Archive", name) }

// wantArchived fails the test unless the archive has these files, and nothing else.
func (b *busy) wantArchived(names string) {
	b.t.Helper()
	dir := b.t.TempDir()
	m := b.office.mount(dir, filepath.Join(b.t.TempDir(), "other"))
	wantEntries(b.t, filepath.Join(dir, "My Archive"), names)
	m.stop()
}

// wantUploads fails the test unless the mount lists so many uploads in these states.
func (b *busy) wantUploads(failed, pending int) {
	b.t.Helper()
	_, status, err := mounted.Status(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	got := map[string]int{}
	for _, u := range status.Uploads.List {
		got[u.State]++
	}
	if got["failed"] != failed || got["pending"] != pending {
		b.t.Errorf("uploads %+v, want %d failed and %d pending", status.Uploads.List, failed, pending)
	}
}

func TestEndWaitsForUploads(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			b := newBusy(t, nil, "a.txt", "b.txt", "c.txt")
			b.program.signal(sig)
			b.program.says("waiting for 3 uploads, 27 B")
			b.gate.open()
			b.program.wantExit(0)
			if said := b.program.said(); strings.Contains(said, "archivefs: ") {
				t.Errorf("said %q, although nothing remains", said)
			}
			b.wantArchived("a.txt b.txt c.txt")
		})
	}
}

func TestEndAfterUnmountWaitsForUploads(t *testing.T) {
	b := newBusy(t, nil, "a.txt")
	if status, _, stderr := call(t, "unmount", "--force", b.dir); status != 0 || !strings.HasPrefix(stderr, "archivefs: its process goes on with 1 upload, 9 B; ") {
		t.Fatalf("unmount: exit status %d: %s", status, stderr)
	}
	b.program.says("waiting for 1 upload, 9 B")
	b.gate.open()
	b.program.wantExit(0)
	b.wantArchived("a.txt")
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	b := newBusy(t, nil, "a.txt", "b.txt")
	b.program.signal(os.Interrupt)
	b.program.says("waiting for 2 uploads")
	b.program.signal(syscall.SIGTERM)
	b.program.wantExit(1)
	if said := b.program.said(); strings.Count(said, "archivefs: ") != 1 ||
		!strings.Contains(said, "archivefs: ended at once; 0 failed and 2 pending uploads are kept in "+b.state) {
		t.Errorf("said %q", said)
	}
	b.gate.open()
	b.mount(nil, "--timeout", "3s") // so long what was cut off in the middle may still arrive
	heals(t, "what was pending is archived", func() bool {
		_, status, err := mounted.Status(b.dir)
		return err == nil && len(status.Uploads.List) == 0
	})
	b.program.stop()
	b.wantArchived("a.txt b.txt")
}

func TestSignalAfterUnmountEndsAtOnce(t *testing.T) {
	b := newBusy(t, nil, "a.txt")
	if status, _, stderr := call(t, "unmount", "--force", b.dir); status != 0 {
		t.Fatalf("unmount: exit status %d: %s", status, stderr)
	}
	b.program.says("waiting for 1 upload")
	b.program.signal(os.Interrupt)
	b.program.wantExit(1)
	b.program.says("0 failed and 1 pending uploads are kept")
}

func TestDrainIsBounded(t *testing.T) {
	b := newBusy(t, nil)
	b.program.stop()
	b.mount(nil, "--drain", "10ms")
	if err := os.WriteFile(b.path("a.txt"), []byte("Guten Tag"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.program.signal(syscall.SIGTERM)
	b.program.wantExit(0)
	want := "archivefs: not everything was archived within 10ms; 0 failed and 1 pending uploads are kept in " + b.state +
		"; mount again: what is pending goes on; until then archivefs uploads list " + b.state + " shows them all\n"
	if said := b.program.said(); !strings.HasSuffix(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
}

func TestEndWhileTheServiceIsAway(t *testing.T) {
	b := newBusy(t, nil)
	b.program.stop()
	b.gate.url, b.state = b.office.url, filepath.Join(t.TempDir(), "state") // without the gate nobody listens
	b.mount(nil)
	if _, err := os.ReadDir(b.path("")); err != nil { // else no folder is known
		t.Fatal(err)
	}
	b.office.running.stop()
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(b.path(name), []byte("Guten Tag"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	heals(t, "the mount notices", func() bool { return health(t, b.dir) == "away" })
	b.program.signal(os.Interrupt)
	b.program.wantExit(0)
	b.program.says("archivefs: the service does not answer, or cannot do what it is asked; 0 failed and 2 pending uploads are kept in " + b.state)
}

// A file that is being written when the mount ends is cut off: the next mount lists it.
func TestEndCountsWhatIsBeingWritten(t *testing.T) {
	b := newBusy(t, nil)
	f, err := os.Create(b.path("half.txt"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // the mount is gone
	if _, err := f.WriteString("Guten"); err != nil {
		t.Fatal(err)
	}
	b.program.signal(os.Interrupt)
	b.program.wantExit(0)
	b.program.says("archivefs: 1 failed and 0 pending uploads are kept in " + b.state)
	if said := b.program.said(); strings.Contains(said, `\n`) || strings.Contains(said, "exit status") {
		t.Errorf("said %q", said)
	}
	b.mount(nil)
	b.wantUploads(1, 0)
	b.program.signal(os.Interrupt)
	b.program.wantExit(0)
}
