package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// unmounts unmounts as umount(8) does: its process is told nothing.
func unmounts(t *testing.T, dir string) {
	t.Helper()
	if err := mounted.Fusermount(t.Context(), false, dir); err != nil {
		t.Fatal(err)
	}
}

// begin begins another mount with the state of the last one. What that left in doubt may arrive for 3 s.
func (b *busy) begin(more ...string) *program {
	b.t.Helper()
	return startMount(b.t, b.dir, append([]string{
		"--base-url", b.gate.url, "--api-key-file", filepath.Join(b.office.data, "api-key"), "--state-dir", b.state,
		"--writes", "async", "--timeout", "3s",
	}, more...)...)
}

// wantAll opens the gate, and fails the test unless the archive gets all these files, once each.
func (b *busy) wantAll(p *program, names string) {
	b.t.Helper()
	b.gate.open()
	heals(b.t, "all is archived", func() bool {
		_, status, err := mounted.Status(b.dir)
		return err == nil && len(status.Uploads.List) == 0
	})
	p.stop()
	b.wantArchived(names)
}

// A mount that comes while the last one still sends gets what that has not sent.
func TestMountWhileTheLastOneEnds(t *testing.T) {
	const waits = "archivefs: waiting for the mount that was at "
	for name, end := range map[string]func(*busy){
		"unmounted":   func(b *busy) { unmounts(b.t, b.dir) },
		"interrupted": func(b *busy) { b.program.signal(os.Interrupt) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBusy(t, nil, "a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt")
			<-b.gate.arrived
			end(b)
			b.program.says("waiting for 6 uploads, 54 B")
			next := b.begin()
			next.line("mounted " + b.gate.url + " at " + b.dir)
			b.program.wantExit(0)
			b.program.says("archivefs: 0 failed and 6 pending uploads are kept in " + b.state + "; the next mount takes them over\n")
			if said := next.said(); strings.Count(said, waits) != 1 {
				t.Errorf("it says %q", said)
			}
			b.wantAll(next, "a.txt b.txt c.txt d.txt e.txt f.txt")
		})
	}
}

// Both in the background, and the first is killed while it sends.
func TestMountInTheBackgroundWhileTheLastOneEnds(t *testing.T) {
	for name, kill := range map[string]bool{"ends": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			b := newBusy(t, nil)
			b.program.stop()
			b.program = b.begin("--daemon")
			b.program.wantExit(0)
			if err := os.WriteFile(b.path("a.txt"), []byte("Guten Tag"), 0o600); err != nil {
				t.Fatal(err)
			}
			<-b.gate.arrived
			pid := processOf(t, b.dir)
			unmounts(t, b.dir)
			if kill {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			next := b.begin("--daemon")
			next.line("mounted " + b.gate.url + " at " + b.dir)
			next.wantExit(0)
			if kill && strings.Contains(next.said(), "waiting") {
				t.Errorf("it says %q", next.said())
			}
			b.gate.open()
			heals(t, "all is archived", func() bool {
				_, status, err := mounted.Status(b.dir)
				return err == nil && len(status.Uploads.List) == 0
			})
			endsAfter(t, b.dir, func() { wantCall(t, 0, "", "unmount", b.dir) })
			b.wantArchived("a.txt")
		})
	}
}

// What waits for the last mount, or that itself, is killed: the next one has all.
func TestKillDuringAHandover(t *testing.T) {
	for name, kill := range map[string]func(last, next *program) *program{
		"the last one": func(last, _ *program) *program { return last },
		"the next one": func(_, next *program) *program { return next },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBusy(t, nil, "a.txt", "b.txt")
			<-b.gate.arrived
			unmounts(t, b.dir)
			next := b.begin()
			next.says("archivefs: waiting for the mount that was at ")
			kill(b.program, next).signal(os.Kill)
			if name == "the next one" {
				_ = next.wait()
				next = b.begin()
			}
			next.line("mounted " + b.gate.url + " at " + b.dir)
			_ = b.program.wait()
			b.wantAll(next, "a.txt b.txt")
		})
	}
}

// Of several that wait one mounts, and the others are told where.
func TestTwoMountsWaitForTheLastOne(t *testing.T) {
	b := newBusy(t, nil, "a.txt", "b.txt")
	<-b.gate.arrived
	unmounts(t, b.dir)
	b.program.says("waiting for 2 uploads")
	first, second := b.begin(), b.begin()
	heals(t, "one is refused", func() bool {
		return strings.Contains(first.said()+second.said(), "is in use by another mount of this archive")
	})
	if strings.Contains(first.said(), "is in use by another mount of this archive") {
		first, second = second, first
	}
	second.wantExit(1)
	first.line("mounted " + b.gate.url + " at " + b.dir)
	b.program.wantExit(0)
	b.wantAll(first, "a.txt b.txt")
}

// What is mounted is not waited for.
func TestMountBesideOneInUse(t *testing.T) {
	b := newBusy(t, nil, "a.txt")
	elsewhere := t.TempDir()
	other := *b
	other.dir = elsewhere
	second := other.begin()
	second.wantExit(1)
	second.says("is in use by another mount of this archive, at " + b.dir)
	b.wantAll(b.program, "a.txt")
}

// A program writes on in a mount that was detached, and is not cut off.
func TestMountBesideOneThatIsWrittenTo(t *testing.T) {
	fusetest.Need(t)
	if os.Getuid() != 0 {
		t.Skip("only root can detach a mount without its helper")
	}
	b := newBusy(t, nil)
	f, err := os.Create(b.path("a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("Guten "); err != nil {
		t.Fatal(err)
	}
	if err := unix.Unmount(b.dir, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	second := b.begin()
	second.wantExit(1)
	second.says("is in use by the mount that was at " + b.dir)
	second.says("which files that are open or another mount namespace keep; end what uses it, or that process")
	if _, err := f.WriteString("Tag"); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	b.program.says("waiting for 1 upload, 9 B")
	next := b.begin()
	next.line("mounted " + b.gate.url + " at " + b.dir)
	b.wantAll(next, "a.txt")
}

// Commands say what the process of a mount that was unmounted is at.
func TestCommandsWhileAMountEnds(t *testing.T) {
	b := newBusy(t, nil, "a.txt")
	<-b.gate.arrived
	unmounts(t, b.dir)
	b.program.says("waiting for 1 upload")
	process := fmt.Sprintf(" (process %d)", b.program.cmd.Process.Pid)
	wantCall(t, 1, "is in use by the mount that was at "+b.dir+process, "uploads", "export", b.state)
	wantCall(t, 1, "there is no archive mounted at "+b.dir+"; the process of the last mount"+process+" goes on with 1 upload, 9 B", "status", b.dir)
	_, findings, _ := call(t, "doctor", b.dir, "--base-url", b.gate.url, "--api-key-file", filepath.Join(b.office.data, "api-key"), "--state-dir", b.state)
	if want := b.state + " is in use by the mount that was at " + b.dir + process; !strings.Contains(findings, want) {
		t.Errorf("doctor says\n%s", findings)
	}
	b.gate.open()
	b.program.wantExit(0)
	b.wantArchived("a.txt")
}

// An archive inside the mount is mounted again at once.
func TestMountAnEmbeddedArchiveAgainAtOnce(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	dir := t.TempDir()
	m := startMount(t, dir, "--embedded")
	for range 3 {
		m.line("mounted ")
		unmounts(t, dir)
		next := startMount(t, dir, "--embedded")
		m.wantExit(0)
		m = next
	}
	m.line("mounted ")
	m.stop()
}
