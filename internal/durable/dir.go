package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// MkdirAll makes a directory and those above it that are missing, and syncs the names of all
// that it made: what is synced in a directory is lost with the directory's own name. The name of
// dir is synced also when it was there, because the run that made it may have been killed before
// it did that.
func MkdirAll(dir string, perm os.FileMode) error {
	dir = filepath.Clean(dir)
	there := dir // the deepest that is there
	for there != filepath.Dir(there) {
		if _, err := os.Lstat(there); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		there = filepath.Dir(there)
	}
	if err := os.MkdirAll(dir, perm); err != nil {
		return err
	}
	for above := filepath.Dir(dir); ; above = filepath.Dir(above) {
		// A directory of others that cannot be read cannot be synced either.
		if err := SyncDir(above); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		if there == dir || above == there {
			return nil
		}
	}
}

// SyncDir makes the names in dir survive a crash of the machine. File systems that
// cannot sync a directory (EINVAL, ENOTSUP) give what they have, without an error.
func SyncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the caller's own directory
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	err = d.Sync()
	closeErr := d.Close()
	if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return fmt.Errorf("sync directory: %w", err)
	}
	if closeErr != nil {
		return fmt.Errorf("sync directory: %w", closeErr)
	}
	return nil
}

// LockDir locks a directory for this process, until the file is closed (flock(2)). The error is unix.EWOULDBLOCK if
// another process has it, and fs.ErrNotExist if it is gone, or was before it was locked.
func LockDir(dir string) (*os.File, error) {
	lock, err := os.Open(dir) //nolint:gosec // the caller's own
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = StillAt(dir, lock)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// StillAt returns fs.ErrNotExist if path names another file than f by now, or none.
func StillAt(path string, f *os.File) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(path)
	if err == nil && !os.SameFile(opened, there) {
		err = fs.ErrNotExist
	}
	return err
}
