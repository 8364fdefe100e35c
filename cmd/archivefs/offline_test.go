package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
	"github.com/archivefs/archivefs/internal/testing/loopback"
)

// office is an archive service of the program, at an address that stays.
type office struct {
	t         *testing.T
	data, url string
	running   *program
}

func startOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, data: t.TempDir()}
	o.start(net.JoinHostPort(loopback.Own().String(), "0"))
	return o
}

func (o *office) start(address string) {
	o.t.Helper()
	o.running = start(o.t, "serve", "--data", o.data, "--listen", address)
	o.url = o.running.line("serving " + o.data + " at ")
}

// again serves at the address of before.
func (o *office) again() {
	o.t.Helper()
	o.start(o.address())
}

// address is host and port.
func (o *office) address() string {
	return strings.TrimSuffix(strings.TrimPrefix(o.url, "http://"), "/api/v2")
}

// mount mounts the archive and returns when that is usable.
func (o *office) mount(dir, state string, more ...string) *program {
	o.t.Helper()
	m := startMount(o.t, dir, append([]string{
		"--base-url", o.url, "--api-key-file", filepath.Join(o.data, "api-key"), "--state-dir", state,
	}, more...)...)
	m.line("mounted " + o.url + " at " + dir)
	return m
}

// health is the word of the status.
func health(t *testing.T, dir string) string {
	t.Helper()
	_, status, err := mounted.Status(dir)
	if err != nil {
		t.Fatal(err)
	}
	return status.Health
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", filepath.Base(path), got, err, want)
	}
}

func wantEntries(t *testing.T, dir, want string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s shows %q, want %q", filepath.Base(dir), got, want)
	}
}

func TestMountWhileTheServiceIsAway(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	archive := filepath.Join(dir, "My Archive")
	known, unknown := filepath.Join(archive, "Known"), filepath.Join(archive, "Unknown")

	m := o.mount(dir, t.TempDir()) // what is made by a mount is known to it
	if err := os.Mkdir(unknown, 0o700); err != nil {
		t.Fatal(err)
	}
	m.stop()
	m = o.mount(dir, state)
	if err := os.Mkdir(known, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(known, "letter.txt"), []byte("Guten Tag"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, archive, "Known Unknown")
	wantEntries(t, known, "letter.txt")
	m.stop()
	o.running.stop()

	m = o.mount(dir, state)
	m.says("level=warning")
	m.says(o.url + " is away")
	if h := health(t, dir); h != "away" {
		t.Errorf("health is %q, want away", h)
	}
	wantEntries(t, archive, "Known Unknown")
	wantEntries(t, known, "letter.txt")
	wantFile(t, filepath.Join(known, "letter.txt"), "Guten Tag")
	if _, err := os.ReadDir(unknown); !errors.Is(err, syscall.EIO) {
		t.Errorf("list an unknown folder: %v, want %v", err, syscall.EIO)
	}
	if err := os.WriteFile(filepath.Join(known, "new.txt"), []byte("neu"), 0o600); !errors.Is(err, syscall.EIO) {
		t.Errorf("archive: %v, want %v", err, syscall.EIO)
	}

	o.again()
	heals(t, "an unknown folder", func() bool {
		_, err := os.ReadDir(unknown)
		return err == nil
	})
	if err := os.WriteFile(filepath.Join(unknown, "new.txt"), []byte("neu"), 0o600); err != nil {
		t.Error(err)
	}
	wantEntries(t, unknown, "new.txt")
	if h := health(t, dir); h == "away" {
		t.Errorf("health is %q when the service is back", h)
	}
	m.stop()
	o.running.stop()
}

func TestMountThatTrustsNothing(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	here, there := t.TempDir(), t.TempDir()
	m, other := o.mount(here, t.TempDir(), "--ttl", "0"), o.mount(there, t.TempDir())
	wantEntries(t, filepath.Join(here, "My Archive"), "")
	if err := os.Mkdir(filepath.Join(there, "My Archive", "Made elsewhere"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, filepath.Join(here, "My Archive"), "Made elsewhere")
	other.stop()
	m.stop()
	o.running.stop()
}

func TestMountAwayWithNothingKnown(t *testing.T) {
	isolate(t)
	o := startOffice(t)
	o.running.stop()
	dir, state := t.TempDir(), t.TempDir()
	m := startMount(t, dir, "--base-url", o.url, "--api-key", "k", "--state-dir", filepath.Join(state, "state"), "--retry-for", "0s")
	if err := m.wait(); err == nil || m.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(m.said(), o.url) {
		t.Errorf("ended with %v: %s; want 1 and a sentence about %s", err, m.said(), o.url)
	}
	wantUntouched(t, state)
	wantUntouched(t, dir)
}
