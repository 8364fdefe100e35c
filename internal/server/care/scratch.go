package care

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"
)

// scratchPrefix begins the names of directories for the temporary files of a restore.
const scratchPrefix = "archivefs-restore-"

// scratch is such a directory. It is locked while it is used (flock(2)), by which a restore tells
// what one that was killed has left.
type scratch struct {
	dir  string
	lock *os.File // nil where directories cannot be locked
}

// newScratch makes one, and removes those that nobody uses any more.
func newScratch() (*scratch, error) {
	sweepScratch(os.TempDir())
	for {
		dir, err := os.MkdirTemp("", scratchPrefix)
		if err != nil {
			return nil, fmt.Errorf("make directory for the restore: %w", err)
		}
		switch lock, err := lockScratch(dir); {
		case err == nil:
			return &scratch{dir, lock}, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, fs.ErrNotExist):
			return &scratch{dir, nil}, nil // and nobody will sweep it
		}
		// Another restore took it for one that was left, before it was locked.
	}
}

// lockScratch locks a directory until the file is closed. The error is EWOULDBLOCK where somebody
// uses it, and ErrNotExist where it is gone.
func lockScratch(dir string) (*os.File, error) {
	lock, err := os.Open(dir) //nolint:gosec // for temporary files
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = os.Lstat(dir)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// sweepScratch removes what restores of this user that were killed have left. It is no reason to fail
// that something cannot be removed.
func sweepScratch(in string) {
	entries, _ := os.ReadDir(in)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !strings.HasPrefix(entry.Name(), scratchPrefix) || !info.IsDir() {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
			continue
		}
		dir := filepath.Join(in, entry.Name())
		if lock, err := lockScratch(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = lock.Close()
		}
	}
}

// want is an error unless there is room for so many bytes.
func (s *scratch) want(bytes int64) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(s.dir, &disk); err != nil {
		return fmt.Errorf("look for room for temporary files: %w", err)
	}
	free, needed := disk.Bavail*uint64(disk.Bsize), uint64(max(bytes, 0)) //nolint:gosec // a block size is positive
	if free >= needed {
		return nil
	}
	return fmt.Errorf("there is room for %s of temporary files in %s, and up to %s are needed; make room, or name another directory in TMPDIR",
		humanize.IBytes(free), os.TempDir(), humanize.IBytes(needed))
}

func (s *scratch) close() error {
	err := os.RemoveAll(s.dir)
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}
