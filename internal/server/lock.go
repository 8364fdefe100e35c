package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// inUse is the lock file's content while a server runs; an orderly Close empties it.
const inUse = "in use\n"

// dataLock keeps other processes out of a data directory (flock(2)) and remembers
// whether the one before ended in order.
type dataLock struct {
	file *os.File
	// interrupted says that the last server did not close the directory.
	interrupted bool
}

func lockData(dir string) (*dataLock, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the data directory is the operator's choice
	if err != nil {
		return nil, fmt.Errorf("open lock of the data directory: %w", err)
	}
	l := &dataLock{file: file}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("the data directory %s is in use: its archive is mounted already, where findmnt -t fuse.archivefs shows, or served; "+
			"use that, or name another directory with --data", dir), file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock data directory %s: %w", dir, err), file.Close())
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read lock of the data directory: %w", err), file.Close())
	}
	l.interrupted = info.Size() > 0
	return l, nil
}

// begin marks the directory as in use, durably.
func (l *dataLock) begin() error {
	if _, err := l.file.WriteAt([]byte(inUse), 0); err != nil {
		return fmt.Errorf("mark data directory as in use: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("mark data directory as in use: %w", err)
	}
	return nil
}

// release gives the directory up; orderly says that nothing in it needs a look.
func (l *dataLock) release(orderly bool) error {
	var err error
	if orderly {
		err = l.file.Truncate(0)
	}
	if err := errors.Join(err, l.file.Close()); err != nil {
		return fmt.Errorf("release data directory: %w", err)
	}
	return nil
}
