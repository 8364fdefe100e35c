// Package datalock lets one process at a time use a data directory, and records whether the last one ended in order.
package datalock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The lock file begins with one of these while the directory is in use. An orderly end empties it; a
// killed process leaves it as it is.
const (
	inUse     = "in use by process "
	restoring = "restoring\n"
)

// Lock keeps other processes out of a data directory (flock(2)).
type Lock struct {
	file *os.File
	// Interrupted says that the last process did not release the directory in order.
	Interrupted bool
	// Restoring says that a restore into the directory was not completed.
	Restoring bool
}

// InUseError says that another process uses a data directory.
type InUseError struct {
	dir string
	by  string // " by process N", empty if that is not known
}

// Error implements error.
func (e *InUseError) Error() string {
	return fmt.Sprintf("the data directory %s is in use%s: its archive is mounted already, where findmnt -t fuse.archivefs shows, or served; "+
		"use that, or name another directory with --data", e.dir, e.by)
}

// Take locks a data directory. The error is an *InUseError if another process uses it. A directory
// with an incomplete restore is also an error.
func Take(dir string) (*Lock, error) {
	l, err := TakeAny(dir)
	if err == nil && l.Restoring {
		return nil, errors.Join(notWhole(dir, "was interrupted"), l.file.Close())
	}
	return l, err
}

// WantWhole returns an error if a restore into dir is incomplete. It takes no lock, because the
// restore may be under way.
func WantWhole(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "lock")) //nolint:gosec // the data directory is the operator's choice
	if err == nil && strings.HasPrefix(string(text), restoring) {
		return notWhole(dir, "is under way or was interrupted")
	}
	return nil
}

func notWhole(dir, what string) error {
	return fmt.Errorf("a restore into %s %s, and the archive there is not whole: call archivefs admin restore again", dir, what)
}

// TakeAny is Take that also accepts a directory with an incomplete restore.
func TakeAny(dir string) (*Lock, error) {
	return take(dir, func(by string) error { return &InUseError{dir, by} })
}

// TakeBackup locks the directory of a backup.
func TakeBackup(dir string) (*Lock, error) {
	l, err := take(dir, func(by string) error { return fmt.Errorf("%s is in use%s: another backup goes there", dir, by) })
	if err != nil {
		return nil, err
	}
	if err := l.Begin(); err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	return l, nil
}

// take locks a directory; busy makes the error for one that another process has locked.
func take(dir string, busy func(by string) error) (*Lock, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the data directory is the operator's choice
	if err != nil {
		return nil, fmt.Errorf("open lock of the data directory: %w", err)
	}
	l := &Lock{file: file}
	locked := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	text, err := io.ReadAll(io.LimitReader(file, 64))
	switch {
	case errors.Is(locked, unix.EWOULDBLOCK):
		return nil, errors.Join(busy(holder(string(text))), file.Close())
	case locked != nil:
		return nil, errors.Join(fmt.Errorf("lock data directory %s: %w", dir, locked), file.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("read lock of the data directory: %w", err), file.Close())
	}
	l.Interrupted, l.Restoring = len(text) > 0, strings.HasPrefix(string(text), restoring)
	return l, nil
}

// holder returns " by process N" for the text of a lock file, or nothing if it names no process.
func holder(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if pid, ok := strings.CutPrefix(line, inUse); ok {
		if _, err := strconv.ParseUint(pid, 10, 32); err == nil {
			return " by process " + pid
		}
	}
	return ""
}

// Begin marks the directory as in use, durably.
func (l *Lock) Begin() error { return l.mark(inUse + strconv.Itoa(os.Getpid()) + "\n") }

// BeginRestore marks the directory as incomplete, durably, until an orderly Release.
func (l *Lock) BeginRestore() error { return l.mark(restoring) }

func (l *Lock) mark(text string) error {
	_, err := l.file.WriteAt([]byte(text), 0)
	if err == nil { // after the write, so that the file is never empty in between
		err = l.file.Truncate(int64(len(text)))
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("mark data directory as in use: %w", err)
	}
	return nil
}

// Release releases the directory; orderly says that the next process need not clean up.
func (l *Lock) Release(orderly bool) error {
	var err error
	if orderly {
		err = l.file.Truncate(0)
	}
	// Closing the file is not enough: a child process that is being started may have inherited it.
	err = errors.Join(err, unix.Flock(int(l.file.Fd()), unix.LOCK_UN))
	if err := errors.Join(err, l.file.Close()); err != nil {
		return fmt.Errorf("release data directory: %w", err)
	}
	return nil
}
