// Package durable publishes files so that a reader, and a start after a crash of the program or of the machine, finds
// either the whole file or none: the bytes go to a temporary file in the target's directory, are synced, renamed to
// their name, and the directory is synced (rename(2), fsync(2)).
//
// Temporary files are named .tmp-* and readable by their owner alone; what a crash left
// of them is removed by Sweep. An error after the rename says that the name may be gone
// again after a crash of the machine, not that the file is incomplete.
//
// OpenFile spares system calls where small files are made one after the other.
//
// LockDir keeps other processes out of a directory.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// WriteFile replaces the file path with one that holds data and has exactly the permissions perm; the umask does not
// count. On an error before the rename the old file is unchanged and nothing is left beside it.
func WriteFile(path string, data []byte, perm os.FileMode) error {
	f, err := CreateTemp(filepath.Dir(path))
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = Publish(f, path)
	}
	if err != nil {
		return Discard(f, fmt.Errorf("write %s: %w", path, err))
	}
	return f.Close()
}

// Publish syncs the temporary file f, gives it the name path in the same file system, replacing what is there, and
// syncs the directories. f stays open: it is the published file. When the rename was not reached f still has its
// temporary name, to be removed by Discard.
func Publish(f *os.File, path string) error {
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync temporary file: %w", err)
	}
	return Rename(f.Name(), path)
}

// Rename renames a file or directory, replacing a file that is there, and syncs the
// directories of both names. The bytes of the file are the caller's to sync before.
func Rename(oldPath, newPath string) error {
	if err := os.Rename(oldPath, newPath); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	newDir, oldDir := filepath.Dir(newPath), filepath.Dir(oldPath)
	if err := SyncDir(newDir); err != nil {
		return err
	}
	if oldDir == newDir {
		return nil
	}
	return SyncDir(oldDir)
}

// prefix begins the name of every temporary file.
const prefix = ".tmp-"

// CreateTemp creates a temporary file in dir, open for reading and writing, with
// permissions 0600. It ends in Publish or in Discard.
func CreateTemp(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, prefix+"*")
	if err != nil {
		return nil, fmt.Errorf("create temporary file: %w", err)
	}
	return f, nil
}

// Discard closes and removes the temporary file f and returns cause, so that a failure reads `return Discard(f, err)`.
// What cannot be removed is left to Sweep. A file that Publish has renamed is only closed.
func Discard(f *os.File, cause error) error {
	_ = f.Close()
	_ = os.Remove(f.Name())
	return cause
}

// IsTemp reports whether name, without a directory, is one of a temporary file.
func IsTemp(name string) bool { return strings.HasPrefix(name, prefix) }

// Sweep removes the temporary files that a crash left in dir itself, not those in
// directories below it. The caller must own dir: a temporary file that another process is
// about to publish would go too. A dir that does not exist holds none.
func Sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep temporary files: %w", err)
	}
	var failed error
	for _, e := range entries {
		if e.IsDir() || !IsTemp(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, fmt.Errorf("sweep temporary files: %w", err))
		}
	}
	return failed
}

// OpenFile is os.OpenFile for a regular file. Package os tries to have each file polled, which no
// regular file can be, and takes five more system calls to find that out.
func OpenFile(path string, flag int, perm os.FileMode) (*os.File, error) {
	for {
		fd, err := unix.Open(path, flag|unix.O_CLOEXEC, uint32(perm.Perm()))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		default:
			return os.NewFile(uintptr(fd), path), nil
		}
	}
}

// abreast is how many files and directories are synced concurrently: a file system joins
// concurrent requests into few writes of its journal.
const abreast = 32

// Named is a temporary file with the name that it shall have.
type Named struct {
	File *os.File
	Path string
}

// PublishAll is Publish for many files, in a fraction of the time: all of them are synced concurrently before the first
// is renamed, and each directory is synced once. Directories of temporary names are not synced: a name that a crash
// brings back is left to Sweep. After an error some files may have their names, and those are whole.
func PublishAll(files []Named) error {
	if err := each(files, func(n Named) error { return n.File.Sync() }); err != nil {
		return fmt.Errorf("sync temporary file: %w", err)
	}
	var dirs []string
	for _, n := range files {
		if err := os.Rename(n.File.Name(), n.Path); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		if dir := filepath.Dir(n.Path); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return each(dirs, SyncDir)
}

// each calls do for all values, some at a time, and returns the first error.
func each[T any](values []T, do func(T) error) error {
	if len(values) == 1 { // as of each upload: nobody else has to be woken
		return do(values[0])
	}
	var group errgroup.Group
	group.SetLimit(abreast)
	for _, v := range values {
		group.Go(func() error { return do(v) })
	}
	return group.Wait()
}

// MkdirAll makes a directory and those above it that are missing, and syncs the names of all that it made: what is
// synced in a directory is lost with the directory's own name. The name of dir is synced also when it was there,
// because the run that made it may have been killed before it did that.
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
	_ = d.Close()
	if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return fmt.Errorf("sync directory: %w", err)
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
