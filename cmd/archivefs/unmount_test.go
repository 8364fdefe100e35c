package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

func TestUnmountWaitsForUploads(t *testing.T) {
	b := newBusy(t, nil, "a.txt", "b.txt")
	unmount := start(t, "unmount", b.dir)
	unmount.says("archivefs: waiting for 2 uploads, 18 B\n")
	b.wantUploads(0, 2) // it is still mounted
	b.gate.open()
	unmount.wantExit(0)
	b.program.wantExit(0)
	b.wantArchived("a.txt b.txt")
}

func TestUnmountIsBounded(t *testing.T) {
	b := newBusy(t, nil, "a.txt")
	unmount := start(t, "unmount", "--drain", "10ms", b.dir)
	unmount.says("archivefs: not everything was archived within 10ms; kept in " + b.state + " for the next mount: 1 upload, 9 B\n")
	unmount.wantExit(0)
	b.program.wantExit(0) // which does not wait for its own bound once more
	b.gate.open()
}

func TestUnmountInterrupted(t *testing.T) {
	b := newBusy(t, nil, "a.txt")
	unmount := start(t, "unmount", b.dir)
	unmount.says("waiting for 1 upload")
	unmount.signal(os.Interrupt)
	unmount.wantExit(1)
	unmount.says("archivefs: " + b.dir + " is still mounted, and sends 1 upload, 9 B; unmount --force does not wait\n")
	b.wantUploads(0, 1)
	b.gate.open()
	b.program.stop()
}

// helperSaying puts a helper into the path that refuses every unmount with these words.
func helperSaying(t *testing.T, words string) {
	t.Helper()
	bin := t.TempDir()
	script := "#!/bin/sh\necho 'fusermount3: " + words + "' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(bin, "fusermount3"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

func TestUnmountRefused(t *testing.T) {
	isolate(t)
	dir := t.TempDir() // looks like a mount
	if err := os.Mkdir(filepath.Join(dir, ".archivefs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".archivefs", "status.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ said, want string }{
		{"failed to unmount " + dir + ": Device or resource busy", "a program has files in " + dir + " open, or is in it"},
		{"entry for " + dir + " not found in /etc/mtab", "you did not mount " + dir},
		{"failed to unmount " + dir + ": Operation not permitted", "you did not mount " + dir},
		{"something new", "unmount " + dir + ": fusermount3: something new"},
	}
	for _, tt := range tests {
		t.Run(tt.said, func(t *testing.T) {
			helperSaying(t, tt.said)
			status, _, stderr := call(t, "unmount", dir)
			if status != 1 || !strings.HasPrefix(stderr, "archivefs: "+tt.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit status %d, error %q; want 1 and %q", status, stderr, tt.want)
			}
		})
	}
}

// While the service does not answer, what keeps an archive from being unmounted may be a program that waits for it.
func TestUnmountRefusedWhileTheServiceIsSilent(t *testing.T) {
	isolate(t)
	dir := t.TempDir() // looks like a mount
	if err := os.Mkdir(filepath.Join(dir, ".archivefs"), 0o700); err != nil {
		t.Fatal(err)
	}
	helperSaying(t, "failed to unmount "+dir+": Device or resource busy")
	for silent, want := range map[string]string{
		"12700000000": "archivefs: a program has files in " + dir + " open, or is in it, and may wait for the service, which has not answered for 12s; " +
			"repeat this when it answers again, or use unmount --force\n",
		"100000000": "archivefs: a program has files in " + dir + " open, or is in it; fuser -vm " + dir + " (package psmisc) shows which: end it, or use unmount --force\n",
	} {
		status := `{"requests": [{"operation": "document/content", "silent-ns": ` + silent + `}]}`
		if err := os.WriteFile(filepath.Join(dir, ".archivefs", "status.json"), []byte(status), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := call(t, "unmount", dir); code != 1 || stderr != want {
			t.Errorf("silent for %s ns: exit status %d, error %q; want 1 and %q", silent, code, stderr, want)
		}
	}
}

func TestUnmountWithoutTheHelper(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := mounted.DetachMount(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "install fuse3") {
		t.Errorf("got error %v, want one that names the package", err)
	}
}

// A mount whose process does not answer can be taken away by force all the same.
func TestUnmountByForceAsksNobody(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir := t.TempDir()
	m := o.mount(dir, t.TempDir()+"/state")
	if err := m.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := call(t, "unmount", "--force", dir)
	if err := m.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if status != 0 {
		t.Errorf("exit status %d, error %q", status, stderr)
	}
	if err := m.wait(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
	wantUntouched(t, dir)
}

func TestUnmountThroughLinks(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	top := t.TempDir()
	dir, far, near := filepath.Join(top, "mnt"), filepath.Join(top, "far"), filepath.Join(t.TempDir(), "near")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink("mnt", far), os.Symlink(far, near)); err != nil {
		t.Fatal(err)
	}
	for _, options := range [][]string{{}, {"--force"}} {
		m := o.mount(dir, t.TempDir())
		start(t, append(append([]string{"unmount"}, options...), near)...).wantExit(0)
		m.wantExit(0)
	}
	wantUntouched(t, dir)
	o.running.stop()
}

// A unit that stands for any profile mounts and unmounts it by its name, where the profile
// says or else at a default, which is made.
func TestMountAndUnmountAProfile(t *testing.T) {
	fusetest.Need(t)
	home := isolate(t)
	own, byDefault := filepath.Join(home, "own"), filepath.Join(home, "Archive", "placeless")
	configure(t, home, fmt.Sprintf("daemon = true\n[profile.placed]\nmountpoint = %q\n[profile.placeless]\nembedded = true\n", own))
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	for profile, dir := range map[string]string{"placed": own, "placeless": byDefault} {
		unmountAtEnd(t, dir)
		operands := []string{"--default-mountpoint", filepath.Join(home, "Archive", profile), profile}
		m := start(t, append([]string{"mount", "--daemon=false"}, operands...)...)
		if said := m.line("mounted "); !strings.HasSuffix(said, " at "+dir) {
			t.Errorf("mounted %s, want %s", said, dir)
		}
		start(t, append([]string{"unmount"}, operands...)...).wantExit(0)
		m.wantExit(0)
	}
	wantEntries(t, filepath.Join(home, "Archive"), "placeless")
	status, _, stderr := call(t, "unmount", "placeless")
	if status != 2 || !strings.Contains(stderr, "the profile placeless names no mountpoint") {
		t.Errorf("exit status %d, error %q; want 2 and a sentence about the mountpoint", status, stderr)
	}
}

// Who unmounts a mount that cannot be asked is told what it leaves, and where.
func TestUnmountTellsWhatIsKept(t *testing.T) {
	b := newBusy(t, nil, "a.txt", "b.txt")
	if err := os.WriteFile(b.path("half.pdf"), []byte("%PDF-1.7 and no end"), 0o600); !errors.Is(err, syscall.EIO) {
		t.Errorf("half a PDF: %v, want %v", err, syscall.EIO)
	}
	if err := os.WriteFile(b.path("c.txt.part"), []byte("c"), 0o600); err != nil {
		t.Fatal(err)
	}
	stays := "; 1 upload failed and stays in " + b.state + "; archivefs uploads list " + b.state + " shows why; " +
		"1 file stays on this machine, in " + b.state + ", and is not archived; archivefs uploads list " + b.state + " says why\n"
	b.program.signal(syscall.SIGKILL)
	_ = b.program.wait() // it was killed
	killed := "archivefs: kept in " + b.state + " for the next mount: 2 uploads, 18 B" + stays
	if status, _, stderr := call(t, "unmount", b.dir); status != 0 || stderr != killed {
		t.Errorf("killed: exit status %d, said %q; want %q", status, stderr, killed)
	}
	b.mount(nil, "--timeout", "1h") // so long it may still arrive
	forced := "archivefs: its process goes on with 2 uploads, 18 B; what it does not archive is kept in " + b.state + " for the next mount" + stays
	if status, _, stderr := call(t, "unmount", "--force", b.dir); status != 0 || stderr != forced {
		t.Errorf("by force: exit status %d, said %q; want %q", status, stderr, forced)
	}
	b.program.signal(syscall.SIGKILL) // an interrupt may be the first that it hears of an end, and wait for uploads
	_ = b.program.wait()
}

// Who looks at a mount point for what waits there finds where the last mount left it.
func TestWhatTheLastMountLeftIsNamed(t *testing.T) {
	fusetest.Need(t)
	home := isolate(t)
	o, dir := startOffice(t), t.TempDir()
	m := startMount(t, dir, "--base-url", o.url, "--api-key-file", filepath.Join(o.data, "api-key"))
	m.line("mounted ")
	if err := os.WriteFile(filepath.Join(dir, "My Archive", "half.pdf"), []byte("%PDF-1.7 and no end"), 0o600); !errors.Is(err, syscall.EIO) {
		t.Errorf("half a PDF: %v, want %v", err, syscall.EIO)
	}
	m.stop()
	for _, command := range [][]string{{"uploads", "list", dir}, {"status", dir}} {
		wantCall(t, 1, "there is no archive mounted at "+dir+"; 1 upload failed and stays in "+filepath.Join(home, ".local/state/archivefs"), command...)
		wantCall(t, 1, " shows why; mounted again, archivefs uploads retry "+dir+" sends what failed", command...)
	}
	o.running.stop()
}
