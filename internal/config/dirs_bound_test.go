package config_test

import (
	"errors"
	"os"
	"path/filepath"
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
		all, err := config.AllBound("")
		if err != nil || len(all) != len(identities) {
			t.Fatalf("%+v, %v; want %q", all, err, identities)
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
	if all, err := config.AllBound(own); err != nil || len(all) != 1 || all[0].Identity != ours {
		t.Errorf("beside %s: %+v, %v; want %s", own, all, err, ours)
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
