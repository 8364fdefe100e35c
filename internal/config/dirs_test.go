package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/config"
)

const (
	ours   = "https://archive.example/api/v2 basic:erika"
	others = "https://archive.example/api/v2 basic:max"
)

// openDirs opens the directories of an archive until the test ends.
func openDirs(t *testing.T, dir, identity string) *config.Dirs {
	t.Helper()
	d, err := config.OpenDirs(dir, identity)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return d
}

func closeDirs(t *testing.T, d *config.Dirs) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// snapshot is every file below dir with its mode and content.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(b)
		}
		all[path] = info.Mode().String() + " " + content
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantSame(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, was := range before {
		if after[path] != was {
			t.Errorf("%s was %q and is %q", path, was, after[path])
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			t.Errorf("%s is new", path)
		}
	}
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != want {
		t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
	}
}

func TestDirsAreForTheUserAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "state")
	d := openDirs(t, dir, ours)
	if d.State != dir || d.Cache != filepath.Join(dir, "cache") {
		t.Errorf("got %s and %s, want both below %s", d.State, d.Cache, dir)
	}
	wantMode(t, d.State, 0o700)
	wantMode(t, d.Cache, 0o700)
	wantMode(t, filepath.Join(dir, "archive"), 0o600)
	wantMode(t, filepath.Join(dir, "lock"), 0o600)
}

func TestDirsOfTheSameArchiveOpenAgain(t *testing.T) {
	dir := t.TempDir()
	closeDirs(t, openDirs(t, dir, ours))
	before := snapshot(t, dir)
	openDirs(t, dir, ours)
	wantSame(t, before, snapshot(t, dir))
}

func TestDirsOfAnotherArchiveAreRefused(t *testing.T) {
	dir := t.TempDir()
	d := openDirs(t, dir, ours)
	if err := os.WriteFile(filepath.Join(d.State, "waiting"), []byte("for ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	closeDirs(t, d)
	before := snapshot(t, dir)

	_, err := config.OpenDirs(dir, others)
	if err == nil {
		t.Fatal("the state directory of another archive was opened")
	}
	for _, part := range []string{dir, ours, others, "--state-dir"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error %q does not name %s", err, part)
		}
	}
	wantSame(t, before, snapshot(t, dir))
	openDirs(t, dir, ours) // the refused one holds no lock
}

func TestDirsAreLocked(t *testing.T) {
	dir := t.TempDir()
	first := openDirs(t, dir, ours)
	for _, identity := range []string{ours, others} {
		_, err := config.OpenDirs(dir, identity)
		if err == nil {
			t.Fatal("two hold the same state directory")
		}
		if !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "in use") {
			t.Errorf("the error %q does not say that %s is in use", err, dir)
		}
	}
	closeDirs(t, first)
	openDirs(t, dir, ours)
}

func TestDirsInUseSayWhere(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	first := openDirs(t, dir, ours)
	want := func(text string) {
		t.Helper()
		if _, err := config.OpenDirs(dir, ours); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got error %v, want one with %q", err, text)
		}
	}
	process := fmt.Sprintf(" (process %d)", os.Getpid())
	want("is in use by another mount of this archive" + process + "; unmount")
	if err := first.MountedAt("/home/erika/My\nArchive"); err != nil {
		t.Fatal(err)
	}
	want(`of this archive, at /home/erika/My\nArchive` + process + "; unmount")
	if err := first.Ending(); err != nil {
		t.Fatal(err)
	}
	want(`is in use by the mount that was at /home/erika/My\nArchive` + process + "; try again")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	openDirs(t, dir, ours)
	want("is in use by another mount of this archive" + process + "; unmount")
	if err := os.WriteFile(filepath.Join(dir, "lock"), []byte(", at /mnt"), 0o600); err != nil {
		t.Fatal(err)
	}
	want("of this archive, at /mnt; unmount") // as an older program says it
}

func TestDirsThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.OpenDirs(filepath.Join(file, "state"), ours); err == nil || !strings.Contains(err.Error(), file) {
		t.Fatalf("got error %v, want one that names %s", err, file)
	}
}

func TestDirsOfSomethingElseAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "letter"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, dir)
	if _, err := config.OpenDirs(dir, ours); err == nil || !strings.Contains(err.Error(), "--state-dir") {
		t.Errorf("got error %v, want one that names --state-dir", err)
	}
	wantSame(t, before, snapshot(t, dir))
}

func TestDirsOnAFreshDisk(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	openDirs(t, dir, ours)
}

func TestDirsOpenAfterACrashBeforeTheyWereBound(t *testing.T) {
	dir := t.TempDir()
	closeDirs(t, openDirs(t, dir, others))
	if err := os.Remove(filepath.Join(dir, "archive")); err != nil {
		t.Fatal(err)
	}
	openDirs(t, dir, ours)
}

func TestDefaultDirs(t *testing.T) {
	home := t.TempDir()
	tests := []struct {
		name, stateHome, cacheHome string
		wantState, wantCache       string
	}{
		{"environment", home + "/s", home + "/c", home + "/s", home + "/c"},
		{"home directory", "", "", home + "/.local/state", home + "/.cache"},
		{"relative paths do not count", "s", "./c", home + "/.local/state", home + "/.cache"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("HOME", home)
			t.Setenv("XDG_STATE_HOME", tt.stateHome)
			t.Setenv("XDG_CACHE_HOME", tt.cacheHome)
			d := openDirs(t, "", ours)
			if got := filepath.Dir(d.State); got != filepath.Join(tt.wantState, "archivefs") {
				t.Errorf("state lies in %s, want %s/archivefs", got, tt.wantState)
			}
			if got := filepath.Dir(d.Cache); got != filepath.Join(tt.wantCache, "archivefs") {
				t.Errorf("caches lie in %s, want %s/archivefs", got, tt.wantCache)
			}
			wantMode(t, d.State, 0o700)
			wantMode(t, d.Cache, 0o700)
			other := openDirs(t, "", others)
			if other.State == d.State || other.Cache == d.Cache {
				t.Errorf("two archives share %s or %s", d.State, d.Cache)
			}
			closeDirs(t, other)
			closeDirs(t, d)
			if again := openDirs(t, "", ours); again.State != d.State || again.Cache != d.Cache {
				t.Errorf("the same archive lies in %s, then in %s", d.State, again.State)
			}
		})
	}
}

func TestDefaultDirsShowNoIdentity(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	d := openDirs(t, "", ours)
	if strings.Contains(d.State+d.Cache, "erika") || strings.ContainsAny(filepath.Base(d.State), ": ") {
		t.Errorf("the path %s shows whose archive it is", d.State)
	}
}

// Where the environment does not tell the home, the directories are those of where it does.
func TestDirsWithoutAHome(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	look := func(home string) config.Seen {
		t.Helper()
		t.Setenv("HOME", home)
		got, err := config.LookDirs("", others)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got, want := look(""), look(me.HomeDir); got.State != want.State || got.Cache != want.Cache {
		t.Errorf("got %+v without a home, and %+v with it", got, want)
	}
}

func TestLookDirs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	want := func(identity string, made, busy bool, reason string) {
		t.Helper()
		got, err := config.LookDirs(dir, identity)
		if got.Made != made || got.Busy != busy || got.State != dir || got.Cache != filepath.Join(dir, "cache") {
			t.Errorf("got %+v", got)
		}
		if reason == "" && err != nil || reason != "" && (err == nil || !strings.Contains(err.Error(), reason)) {
			t.Errorf("got error %v, want %q", err, reason)
		}
	}
	want(ours, false, false, "")
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a look made %s: %v", dir, err)
	}
	d := openDirs(t, dir, ours)
	want(ours, true, true, "")
	want(others, false, false, "belongs to another archive")
	closeDirs(t, d)
	want(ours, true, false, "")
	if err := os.Remove(filepath.Join(dir, "archive")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(ours, false, false, "is no state directory and not empty")
}

// The directory of a mount is found by its mount point until the mount ends, and that of one that was
// killed until the next.
func TestStateOfAMountPoint(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	const mnt = "/home/erika/Archive"
	open := func(dir string) *config.Dirs {
		d, err := config.OpenDirs(dir, "http://127.0.0.1:1/api/v2 key:0123456789abcdef")
		if err == nil {
			err = d.MountedAt(mnt)
		}
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	want := func(want string) {
		t.Helper()
		if got, err := config.StateAt(mnt); got != want || (err == nil) != (want != "") {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	want("")
	passing := open(t.TempDir())
	if err := passing.Close(); err != nil {
		t.Error(err)
	}
	if all, err := os.ReadDir(os.Getenv("XDG_STATE_HOME")); err != nil || len(all) > 0 {
		t.Errorf("a mount with its state elsewhere leaves %v, %v", all, err)
	}
	killed := open(t.TempDir())
	want(killed.State)
	next := open("")
	want(next.State)
	if err := killed.Close(); err != nil {
		t.Error(err)
	}
	want(next.State)
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	want("")
	if all := config.AllBound(""); len(all) != 1 {
		t.Errorf("bound are %v", all)
	}
}

// A mount that ends learns that another process waits, of which there is one at a time, until that is gone.
func TestDirsAreHastened(t *testing.T) {
	d := openDirs(t, t.TempDir(), ours)
	want := func(want bool) {
		t.Helper()
		if got := d.IsHastened(); got != want {
			t.Errorf("one waits: %t", got)
		}
	}
	want(false)
	next, err := config.Hasten(d.State)
	if err != nil {
		t.Fatal(err)
	}
	want(true)
	if _, err := config.Hasten(d.State); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("beside it: %v", err)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	want(false)
	closeDirs(t, d)
	openDirs(t, d.State, ours)
}
