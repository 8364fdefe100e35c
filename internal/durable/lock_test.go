package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestALockedDirectoryIsOneHoldersUntilItIsClosed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	if _, err := LockDir(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockDir(dir); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("a second lock: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := LockDir(dir)
	if err != nil {
		t.Fatalf("after the first one was closed: %v", err)
	}
	defer again.Close() //nolint:errcheck // only locked
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := StillAt(dir, again); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is gone: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := StillAt(dir, again); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another directory of its name: %v", err)
	}
}
