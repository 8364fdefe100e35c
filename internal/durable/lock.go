package durable

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

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
