package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// parentOf is the process that started pid.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

// supervised is a mount in the background.
type supervised struct {
	*office
	dir, state, log string
}

func (o *office) mountInBackground(more ...string) *supervised {
	o.t.Helper()
	s := &supervised{office: o, dir: o.t.TempDir(), state: filepath.Join(o.t.TempDir(), "state")}
	s.log = filepath.Join(o.t.TempDir(), "log")
	unmountAtEnd(o.t, s.dir)
	s.mount(more...)
	return s
}

// mount mounts in the background.
func (s *supervised) mount(more ...string) {
	s.t.Helper()
	p := start(s.t, append([]string{
		"mount", "--daemon", "--base-url", s.url, "--api-key-file", filepath.Join(s.data, "api-key"),
		"--state-dir", s.state, "--log-file", s.log, s.dir,
	}, more...)...)
	p.line("mounted " + s.url + " at " + s.dir)
	p.wantExit(0)
}

// unmount unmounts, and waits for the end of the mount.
func (s *supervised) unmount() {
	s.t.Helper()
	endsAfter(s.t, s.dir, func() { start(s.t, "unmount", s.dir).wantExit(0) })
}

// crash kills the process of the mount and waits for the next one. Meanwhile something may happen.
func (s *supervised) crash(restarts int, meanwhile func()) {
	s.t.Helper()
	pid := processOf(s.t, s.dir)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	meanwhile()
	heals(s.t, "it is mounted again", func() bool {
		_, status, err := mounted.Status(s.dir)
		return err == nil && status.PID != pid && status.Restarts == restarts
	})
}

// says waits for a line of the log.
func (s *supervised) says(text string) {
	s.t.Helper()
	heals(s.t, "the log says "+text, func() bool {
		log, err := os.ReadFile(s.log)
		return err == nil && strings.Contains(string(log), text)
	})
}

// A mount in the background that is killed is mounted again: what waits goes on, open files fail,
// and its user is told.
func TestSupervisorMountsAgain(t *testing.T) {
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
	supervisor := parentOf(t, processOf(t, s.dir))
	s.crash(1, s.again)
	if _, err := open.ReadDir(1); !errors.Is(err, syscall.ENOTCONN) {
		t.Errorf("a directory that was open: %v, want %v", err, syscall.ENOTCONN)
	}
	wantFile(t, letter, "Guten Tag")
	heals(t, "the letter is archived", func() bool {
		_, status, err := mounted.Status(s.dir)
		return err == nil && len(status.Uploads.List) == 0
	})
	s.says("was mounted again, because the process of the last mount had ended without unmounting it (signal: killed)")
	s.crash(2, func() {})
	wantEntries(t, filepath.Join(s.dir, "My Archive"), "letter.txt")
	s.unmount()
	heals(t, "the supervisor ends", func() bool { return !isRunning(supervisor) })
	wantUntouched(t, s.dir)

	p := s.office.mount(s.dir, s.state) // an ordinary mount counts anew
	if _, status, err := mounted.Status(s.dir); err != nil || status.Restarts != 0 {
		t.Errorf("the next mount: %+v, %v, want no restarts", status, err)
	}
	p.stop()
}

// A service that accepts connections and does not answer holds up no mount that takes over from one that
// crashed: it shows the last listings until the service answers.
func TestSupervisorDoesNotWaitForASilentService(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	const forEver = "1h"
	s := startOffice(t).mountInBackground()
	mandator := filepath.Join(s.dir, "My Archive")
	letter := filepath.Join(mandator, "letter.txt")
	if err := os.WriteFile(letter, []byte("Guten Tag"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, mandator, "letter.txt")
	s.unmount() // which keeps the listings
	s.mount("--timeout", forEver, "--ttl", "1s")
	s.running.signal(syscall.SIGSTOP)
	defer s.running.signal(syscall.SIGCONT)
	s.crash(1, func() {})
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

// A signal to the supervisor reaches the mount: SIGHUP reloads it, SIGTERM unmounts, also if the
// mount gets it as well.
func TestSupervisorPassesSignals(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	s := startOffice(t).mountInBackground()
	pid := processOf(t, s.dir)
	supervisor := parentOf(t, pid)
	if err := syscall.Kill(supervisor, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.says("all that was known of the archive is asked for anew")
	for _, p := range []int{pid, supervisor} {
		if err := syscall.Kill(p, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	heals(t, "both end", func() bool { return !isRunning(pid) && !isRunning(supervisor) })
	wantUntouched(t, s.dir)
	if log, err := os.ReadFile(s.log); err != nil || strings.Contains(string(log), "ended at once") {
		t.Errorf("the log is %q, %v", log, err)
	}
}

// A mount in the background takes the key that took the place of a revoked one, when it is told to, and when
// it crashes.
func TestRevokedKeyOfABackgroundMount(t *testing.T) {
	password, log := filepath.Join(t.TempDir(), "password"), filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(password, []byte("p-geheim"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := revoke(t, "--daemon", "--log-file", log, "--user", "erika", "--password-file", password)
	r.wantExit(0)
	pid := processOf(t, r.mountpoint)
	key := r.renews()
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	heals(t, "the reload takes the new key", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(text), "all that was known of the archive is asked for anew")
	})
	r.administrator.says(0, "revoked", "keys", "revoke", "2")
	heals(t, "the key is refused", func() bool { return statusOf(t, r.url+"/inboxes", key) == http.StatusUnauthorized })
	r.renews()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	heals(t, "the next mount takes the new key", func() bool {
		_, status, err := mounted.Status(r.mountpoint)
		return err == nil && status.PID != pid && status.Health == "ok"
	})
	endsAfter(t, r.mountpoint, func() { start(t, "unmount", r.mountpoint).wantExit(0) })
}

// What somebody unmounted after a crash is not mounted again, and what cannot be mounted again is
// given up.
func TestSupervisorEnds(t *testing.T) {
	fusetest.Need(t)
	for name, tt := range map[string]struct {
		after func(s *supervised) // the supervisor was stopped, and the mount killed
		stays bool
	}{
		"unmounted": {after: func(s *supervised) {
			p := start(s.t, "unmount", s.dir)
			p.wantExit(0)
			p.says("the mount had crashed; it is not mounted again")
		}},
		"wrong options now": {after: func(s *supervised) { configure(s.t, os.Getenv("HOME"), "ttl = \"long\"\n") }, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			isolate(t)
			s := startOffice(t).mountInBackground()
			pid := processOf(t, s.dir)
			supervisor := parentOf(t, pid)
			for _, kill := range []struct {
				pid    int
				signal syscall.Signal
			}{{supervisor, syscall.SIGSTOP}, {pid, syscall.SIGKILL}} {
				if err := syscall.Kill(kill.pid, kill.signal); err != nil {
					t.Fatal(err)
				}
			}
			heals(t, "the mount is stale", func() bool { return mounted.IsLeft(s.dir) })
			wantCall(t, 1, "being mounted again, because the process behind it has crashed; wait a moment", "status", s.dir)
			// Its exit status is also about mounts of other tests.
			if _, said, _ := call(t, "doctor", "--embedded", s.dir); !strings.Contains(said, "warning  mount                  "+s.dir+" is being mounted again") {
				t.Errorf("doctor says %s", said)
			}
			tt.after(s)
			if err := syscall.Kill(supervisor, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			heals(t, "the supervisor ends", func() bool { return !isRunning(supervisor) })
			if mounted.IsLeft(s.dir) != tt.stays {
				t.Errorf("the stale mount is there: %v, want %v", !tt.stays, tt.stays)
			}
			if tt.stays {
				s.says("config.toml:1: ttl: ")
				wantCall(t, 1, "is stale: the process behind it is gone; archivefs unmount "+s.dir+" takes it away", "status", "--config", os.DevNull, s.dir)
				start(t, "unmount", "--config", os.DevNull, s.dir).wantExit(0)
			}
		})
	}
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
