package main

import (
	"errors"
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

// background is a mount in the background.
type background struct {
	*office
	dir, state, log string
}

func (o *office) mountInBackground(more ...string) *background {
	o.t.Helper()
	s := &background{office: o, dir: o.t.TempDir(), state: filepath.Join(o.t.TempDir(), "state")}
	s.log = filepath.Join(o.t.TempDir(), "log")
	unmountAtEnd(o.t, s.dir)
	s.mount(more...)
	return s
}

// mount mounts in the background.
func (s *background) mount(more ...string) {
	s.t.Helper()
	p := start(s.t, append([]string{
		"mount", "--daemon", "--base-url", s.url, "--api-key-file", filepath.Join(s.data, "api-key"),
		"--state-dir", s.state, "--log-file", s.log, s.dir,
	}, more...)...)
	p.line("mounted " + s.url + " at " + s.dir)
	p.wantExit(0)
}

// unmount unmounts, and waits for the end of the mount.
func (s *background) unmount() {
	s.t.Helper()
	endsAfter(s.t, s.dir, func() { start(s.t, "unmount", s.dir).wantExit(0) })
}

// kill kills the process of the mount, which leaves it stale.
func (s *background) kill() {
	s.t.Helper()
	if err := syscall.Kill(processOf(s.t, s.dir), syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	heals(s.t, "the mount is stale", func() bool { return mounted.IsLeft(s.dir) })
}

// says waits for a line of the log.
func (s *background) says(text string) {
	s.t.Helper()
	heals(s.t, "the log says "+text, func() bool {
		log, err := os.ReadFile(s.log)
		return err == nil && strings.Contains(string(log), text)
	})
}

// What a mount leaves that is killed is shown as stale, and the next mount takes its place: what waits goes
// on, open files fail, and its user is told.
func TestMountInThePlaceOfOneThatWasKilled(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	s := startOffice(t).mountInBackground("--writes", "async")
	letter := filepath.Join(s.dir, "My Archive", "letter.txt")
	wantEntries(t, filepath.Dir(letter), "")
	s.running.stop()
	if err := os.WriteFile(letter, []byte("Guten Tag"), 0o600); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close() //nolint:errcheck // it was only read
	s.kill()
	s.again()
	wantCall(t, 1, "is stale: the process behind it is gone; archivefs unmount "+s.dir+" takes it away; or mount again: what is pending goes on; until then archivefs uploads list /", "uploads", "list", s.dir)
	// Its exit status is also about mounts of other tests.
	if _, said, _ := call(t, "doctor", "--embedded", s.dir); !strings.Contains(said, s.dir+" is stale (Transport endpoint is not connected)") {
		t.Errorf("doctor says %s", said)
	}
	s.mount("--writes", "async")
	if _, err := open.ReadDir(1); !errors.Is(err, syscall.ENOTCONN) {
		t.Errorf("a directory that was open: %v, want %v", err, syscall.ENOTCONN)
	}
	wantFile(t, letter, "Guten Tag")
	heals(t, "the letter is archived", func() bool {
		_, status, err := mounted.Status(s.dir)
		return err == nil && len(status.Uploads.List) == 0
	})
	s.says("was mounted again, because the process of the last mount had ended without unmounting it")
	s.kill()
	s.mount()
	wantEntries(t, filepath.Join(s.dir, "My Archive"), "letter.txt")
	s.kill()
	start(t, "unmount", s.dir).wantExit(0)
	wantUntouched(t, s.dir)
}

// A service that accepts connections and does not answer holds up no mount that takes over from one that
// was killed: it shows the last listings until the service answers.
func TestMountInThePlaceOfAnotherDoesNotWaitForASilentService(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	silent := []string{"--timeout", "1h", "--ttl", "1s"}
	s := startOffice(t).mountInBackground()
	mandator := filepath.Join(s.dir, "My Archive")
	letter := filepath.Join(mandator, "letter.txt")
	if err := os.WriteFile(letter, []byte("Guten Tag"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, mandator, "letter.txt")
	s.unmount() // which keeps the listings
	s.mount(silent...)
	s.running.signal(syscall.SIGSTOP)
	defer s.running.signal(syscall.SIGCONT)
	s.kill()
	s.mount(silent...)
	wantEntries(t, mandator, "letter.txt")
	wantFile(t, letter, "Guten Tag")
	if got := health(t, s.dir); got != "away" {
		t.Errorf("the health is %s, want away", got)
	}
	s.says("it has not answered yet")
	s.running.signal(syscall.SIGCONT)
	heals(t, "the service is there again", func() bool {
		_, err := os.ReadDir(mandator)
		return err == nil && health(t, s.dir) == "ok"
	})
	s.unmount()
}

// SIGHUP reloads a mount in the background, and SIGTERM unmounts it.
func TestSignalsToAMountInTheBackground(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	s := startOffice(t).mountInBackground()
	pid := processOf(t, s.dir)
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.says("all that was known of the archive is asked for anew")
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	heals(t, "it ends", func() bool { return !isRunning(pid) })
	wantUntouched(t, s.dir)
	if log, err := os.ReadFile(s.log); err != nil || strings.Contains(string(log), "ended at once") {
		t.Errorf("the log is %q, %v", log, err)
	}
}

// A mount in the background takes the key that took the place of a revoked one, when it is told to.
func TestRevokedKeyOfABackgroundMount(t *testing.T) {
	password, log := filepath.Join(t.TempDir(), "password"), filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(password, []byte("p-geheim"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := revoke(t, "--daemon", "--log-file", log, "--user", "erika", "--password-file", password)
	r.wantExit(0)
	r.renews()
	if err := syscall.Kill(processOf(t, r.mountpoint), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	heals(t, "the reload takes the new key", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(text), "all that was known of the archive is asked for anew")
	})
	endsAfter(t, r.mountpoint, func() { start(t, "unmount", r.mountpoint).wantExit(0) })
}

// A stale mount that is no archive's is not taken away.
func TestMountOverForeignStaleMount(t *testing.T) {
	fusetest.Need(t)
	if os.Geteuid() != 0 {
		t.Skip("only root mounts without a helper")
	}
	isolate(t)
	dir := t.TempDir()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = unix.Mount("other", dir, "fuse.other", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd))
	if err := errors.Join(err, unix.Close(fd)); err != nil {
		t.Fatal(err)
	}
	p := start(t, "mount", dir)
	p.wantExit(1)
	p.says("the process behind the mount at " + dir + " is gone, and it is no archive's")
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		t.Error(err)
	}
}
