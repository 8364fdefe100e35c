package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/internal/config"
)

func TestBoundTo(t *testing.T) {
	for _, tt := range []struct {
		content, identity string // no state directory without an identity
	}{
		{ours + "\n", ours},
		{"embedded:/home/erika/My Archive\n", "embedded:/home/erika/My Archive"},
		{ours, ""}, // somebody's file: ours has an end
		{"letters\nhttp://archive.example\n", ""},
		{"", ""},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "archive"), []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := config.BoundTo(dir)
		if b.Identity != tt.identity || errors.Is(err, os.ErrNotExist) != (tt.identity == "") {
			t.Errorf("%q is %+v, %v; want %q", tt.content, b, err, tt.identity)
		}
	}
	if _, err := config.OpenBound(t.TempDir(), "a command"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
}

func TestAllBound(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	want := func(identities ...string) {
		t.Helper()
		all := config.AllBound("")
		if len(all) != len(identities) {
			t.Fatalf("%+v; want %q", all, identities)
		}
		for i, b := range all {
			if b.Identity != identities[i] {
				t.Errorf("%+v, want %q", all, identities)
			}
		}
	}
	want()
	closeDirs(t, openDirs(t, "", ours))
	if err := os.MkdirAll(filepath.Join(home, "archivefs", "login"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, "archivefs", "0123456789abcdef"), 0o700); err != nil { // never usable
		t.Fatal(err)
	}
	want(ours)
	own := openDirs(t, "", others).State
	if all := config.AllBound(own); len(all) != 1 || all[0].Identity != ours {
		t.Errorf("beside %s: %+v; want %s", own, all, ours)
	}
}

// A command and a mount never share a directory, and each says who has it.
func TestOpenBoundIsLocked(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	mount := openDirs(t, dir, ours)
	if err := mount.MountedAt("/mnt"); err != nil {
		t.Fatal(err)
	}
	var used *config.InUseError
	if _, err := config.OpenBound(dir, "a command"); !errors.As(err, &used) || used.Mountpoint != "/mnt" {
		t.Errorf("beside a mount: %v", err)
	}
	closeDirs(t, mount)
	b, err := config.BoundTo(dir)
	if err != nil || b.Busy() {
		t.Errorf("free, but busy (%v)", err)
	}
	command, err := config.OpenBound(dir, "a command")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.OpenDirs(dir, ours); !errors.As(err, &used) || used.Command != "a command" || !b.Busy() {
		t.Errorf("a mount beside a command: %v", err)
	}
	closeDirs(t, command)
	openDirs(t, dir, ours)
}

// Who only looks whether a directory is in use keeps nobody from taking it.
func TestOpenDirsWhileOthersLook(t *testing.T) {
	dir := t.TempDir()
	closeDirs(t, openDirs(t, dir, ours))
	b, err := config.BoundTo(dir)
	if err != nil {
		t.Fatal(err)
	}
	var looker sync.WaitGroup
	end := make(chan struct{})
	looker.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				b.Busy()
			}
		}
	})
	for range 200 {
		d, err := config.OpenDirs(dir, ours)
		if err != nil {
			t.Error(err)
			break
		}
		closeDirs(t, d)
	}
	close(end)
	looker.Wait()
}

// Nor does one who looks and is left without the processor meanwhile.
func TestOpenDirsWhileALookTakesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		closeDirs(t, openDirs(t, dir, ours))
		lock, err := os.Open(filepath.Join(dir, "lock"))
		if err == nil {
			err = syscall.Flock(int(lock.Fd()), syscall.LOCK_SH)
		}
		if err != nil {
			t.Fatal(err)
		}
		opened := make(chan error)
		go func() {
			d, err := config.OpenDirs(dir, ours)
			if err == nil {
				err = d.Close()
			}
			opened <- err
		}()
		time.Sleep(5 * time.Second)
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
		if err := <-opened; err != nil {
			t.Error(err)
		}
	})
}

// The identities of two keys for a service, and of one for another.
const (
	oldKey   = "https://archive.example/api/v2 key:0123456789abcdef"
	newKey   = "https://archive.example/api/v2 key:fedcba9876543210"
	otherKey = "https://other.example/api/v2 key:0123456789abcdef"
)

// withHomes gives the test state and cache homes of its own.
func withHomes(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

// Directories that were given to another key are found by that, and the key before gets others, if it is still in use.
func TestRebind(t *testing.T) {
	withHomes(t)
	first := openDirs(t, "", oldKey)
	if err := first.Rebind(newKey); err != nil {
		t.Fatal(err)
	}
	closeDirs(t, first)
	renewed := openDirs(t, "", newKey)
	if renewed.State != first.State || renewed.Cache != first.Cache {
		t.Errorf("got %s and %s, want %s and %s", renewed.State, renewed.Cache, first.State, first.Cache)
	}
	closeDirs(t, renewed)
	for range 2 {
		own := openDirs(t, "", oldKey)
		if own.State == first.State || filepath.Base(own.State) != filepath.Base(own.Cache) {
			t.Errorf("the key before has %s and %s", own.State, own.Cache)
		}
		closeDirs(t, own)
	}
	if all := config.AllBound(""); len(all) != 2 {
		t.Errorf("%+v", all)
	}
}

func TestEarlier(t *testing.T) {
	tests := []struct {
		name     string
		left     map[string]string // identities, and the profiles of their mounts
		identity string
		want     []string
	}{
		{"nothing", nil, newKey, nil},
		{"another key", map[string]string{oldKey: "office"}, newKey, []string{oldKey}},
		{"for a name by now", map[string]string{oldKey: "office"}, ours, []string{oldKey}},
		{"directories of its own", map[string]string{oldKey: "office", newKey: "office"}, newKey, nil},
		{"another profile", map[string]string{oldKey: "home"}, newKey, nil},
		{"another service", map[string]string{otherKey: "office"}, newKey, nil},
		{"a user", map[string]string{ours: "office"}, newKey, nil},
		{"an archive of one's own", map[string]string{"embedded:/data": "office"}, "embedded:/other", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			withHomes(t)
			for identity, profile := range tt.left {
				d := openDirs(t, "", identity)
				if err := d.UsedFor(profile); err != nil {
					t.Fatal(err)
				}
				closeDirs(t, d)
			}
			var got []string
			for _, b := range config.Earlier("", "office", tt.identity) {
				got = append(got, b.Identity)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The last used is the first, and the directory of --state-dir the only one.
func TestEarlierOfSeveral(t *testing.T) {
	withHomes(t)
	const older = "https://archive.example/api/v2 key:0000000000000000"
	for i, identity := range []string{oldKey, older} {
		d := openDirs(t, "", identity)
		closeDirs(t, d)
		at := time.Unix(1e9-int64(i), 0)
		if err := os.Chtimes(filepath.Join(d.State, "lock"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	all := config.Earlier("", "", newKey)
	if len(all) != 2 || all[0].Identity != oldKey || all[1].Identity != older {
		t.Errorf("got %+v", all)
	}
	dir := t.TempDir()
	if all := config.Earlier(dir, "", newKey); all != nil {
		t.Errorf("an empty --state-dir has %+v", all)
	}
	closeDirs(t, openDirs(t, dir, older))
	if all := config.Earlier(dir, "", newKey); len(all) != 1 || all[0].State != dir || all[0].Cache != filepath.Join(dir, "cache") {
		t.Errorf("a --state-dir has %+v", all)
	}
}

// Directories are opened for a Rebind as long as they belong to whom they belonged.
func TestOpenOfEarlierDirs(t *testing.T) {
	withHomes(t)
	closeDirs(t, openDirs(t, "", oldKey))
	b := config.Earlier("", "", newKey)[0]
	d, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	var used *config.InUseError
	if _, err := b.Open(); !errors.As(err, &used) {
		t.Errorf("opened twice: %v", err)
	}
	if err := errors.Join(d.Rebind(newKey), d.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(); err == nil {
		t.Error("opened although another process gave them to another key")
	}
}
