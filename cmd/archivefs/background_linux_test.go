package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mount"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// processOf is the process of the mount at dir.
func processOf(t *testing.T, dir string) int {
	t.Helper()
	_, status, err := mounted.Status(dir)
	if err != nil {
		t.Fatal(err)
	}
	return status.PID
}

// wantNoSecret fails the test when others, or whoever looks at the process, can read a secret.
func wantNoSecret(t *testing.T, pid int, secret string) {
	t.Helper()
	for _, what := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, what))
		if err != nil || len(text) == 0 || strings.Contains(string(text), secret) {
			t.Errorf("%s of the process in the background is %q, %v", what, text, err)
		}
	}
}

func TestBackground(t *testing.T) {
	fusetest.Need(t)
	home := isolate(t)
	o := startOffice(t)
	key, err := os.ReadFile(filepath.Join(o.data, "api-key"))
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.TrimSpace(string(key))
	asked := filepath.Join(home, "asked")
	for name, credentials := range map[string][]string{
		"a key":     {"--api-key", secret},
		"a command": {"--api-key-command", "echo once >>" + asked + "; cat " + filepath.Join(o.data, "api-key")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir()) // paths may be relative
			if err := os.Mkdir("mnt", 0o700); err != nil {
				t.Fatal(err)
			}
			dir, err := filepath.Abs("mnt")
			if err != nil {
				t.Fatal(err)
			}
			unmountAtEnd(t, dir)
			p := start(t, append([]string{
				"mount", "--daemon", "--base-url", o.url, "--state-dir", "state", "--log-file", "log", "mnt",
			}, credentials...)...)
			p.line("mounted " + o.url + " at " + dir)
			p.wantExit(0)
			if said := p.said(); said != "" {
				t.Errorf("said %q", said)
			}
			if err := os.WriteFile(filepath.Join(dir, "My Archive", name), []byte("Guten Tag"), 0o600); err != nil {
				t.Error(err)
			}
			pid := processOf(t, dir)
			wantNoSecret(t, pid, secret)
			if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err != nil || cwd != "/" {
				t.Errorf("it works in %s, %v", cwd, err)
			}
			if session, err := unix.Getsid(pid); err != nil || session != pid {
				t.Errorf("it belongs to session %d, %v", session, err)
			}
			endsAfter(t, dir, func() { start(t, "unmount", dir).wantExit(0) })
			if log, err := os.ReadFile("log"); err != nil || strings.Contains(string(log), secret) {
				t.Errorf("the log is %q, %v", log, err)
			}
		})
	}
	wantFile(t, asked, "once\n")
}

// What keeps a mount from being usable is told to whoever called, as in the foreground.
func TestBackgroundFails(t *testing.T) {
	isolate(t)
	dir := t.TempDir()
	url := refusing(t)
	missing := filepath.Join(dir, "missing")
	tests := []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"wrong usage", []string{dir, "--base-url", url, "--ttl=long"}, 2, "--ttl"},
		{"a wrong key", []string{dir, "--base-url", url, "--api-key", "k-geheim"}, 1, "check the API key"},
		{"no directory", []string{missing, "--base-url", url, "--api-key", "k-geheim"}, 1, "there is no directory " + missing},
		{"a log without a reader", []string{dir, "--base-url", url, "--api-key", "k", "--log-to", "stderr"}, 2, "--log-to: "},
		{"a log that cannot be", []string{dir, "--base-url", url, "--api-key", "k", "--log-file", filepath.Join(missing, "log")}, 2, "--log-file: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, append([]string{"mount", "--daemon"}, tt.args...)...)
			p.wantExit(tt.status)
			said := p.said()
			if !strings.Contains(said, tt.want) || strings.Count(said, "archivefs: ") != 1 || strings.Contains(said, "geheim") {
				t.Errorf("said %q, want %q", said, tt.want)
			}
			wantUntouched(t, dir)
		})
	}
}

// Whoever starts the mount can give up.
func TestBackgroundInterrupted(t *testing.T) {
	isolate(t)
	dir := t.TempDir()
	silent := newSilent(t)
	p := start(t, "mount", "--daemon", "--base-url", silent.url, "--api-key", "k", dir)
	<-silent.asked
	p.signal(os.Interrupt)
	p.wantExit(1)
	wantUntouched(t, dir)
}

// A mount in the background says in its log what waits at its end.
func TestBackgroundEnds(t *testing.T) {
	b := newBusy(t, nil)
	b.program.stop()
	log := filepath.Join(t.TempDir(), "log")
	b.mount(nil, "--daemon", "--drain", "10ms", "--log-file", log)
	b.program.wantExit(0)
	if err := os.WriteFile(b.path("a.txt"), []byte("Guten Tag"), 0o600); err != nil {
		t.Fatal(err)
	}
	endsAfter(t, b.dir, func() {
		if err := syscall.Kill(processOf(t, b.dir), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	})
	want := "not everything was archived within 10ms; 0 failed and 1 pending uploads are kept in " + b.state
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), want) {
		t.Errorf("the log is %q, %v; want %q", text, err, want)
	}
}

func TestHandoverWithoutACaller(t *testing.T) {
	isolate(t)
	t.Setenv(mount.HandoverVariable, "1")
	p := start(t, "mount", t.TempDir())
	p.wantExit(1)
	p.says("--daemon: read what the caller gives")
}
