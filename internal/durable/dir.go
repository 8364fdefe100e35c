package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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
