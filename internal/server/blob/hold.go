package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// held is the directory that contents go to, instead of being removed, while somebody holds
// them. It is there only then, and locked by who holds (flock(2)): one without a lock is
// what a killed process left.
const held = "held"

// Hold keeps all contents readable that are there when HoldFiles returns, whoever removes
// them: a backup reads what its copy of the database refers to.
type Hold struct {
	files *Files
	lock  *os.File
}

// HoldFiles begins to hold the contents in dir. Other processes may use it. Only one can hold
// at a time.
func HoldFiles(dir string) (*Hold, error) {
	f := ViewFiles(dir)
	for tries := 0; ; tries++ {
		if err := os.Mkdir(f.held(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("hold contents: %w", err)
		}
		lock, err := lockDir(f.held())
		if errors.Is(err, fs.ErrNotExist) {
			continue // whoever removes a content took it for one that was left
		}
		if errors.Is(err, unix.EWOULDBLOCK) && tries < 50 { // who removes what was left locks it, too, but not for long
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.New("the contents are held already: another backup is under way")
		}
		if err != nil {
			return nil, fmt.Errorf("hold contents: %w", err)
		}
		return &Hold{f, lock}, nil
	}
}

// Open opens a content that was there when the hold began, or came later and was not removed.
func (h *Hold) Open(_ context.Context, digest string) (*os.File, error) {
	if !valid(digest) {
		return nil, fmt.Errorf("content %q: %w", digest, ErrMissing)
	}
	// In this order: a content moves only from its place to those that are held. One that was
	// published again meanwhile has its place again.
	for _, path := range []string{h.files.path(digest), filepath.Join(h.files.held(), digest), h.files.path(digest)} {
		file, err := os.Open(path) //nolint:gosec // named by a digest
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open content: %w", err)
		}
	}
	return nil, fmt.Errorf("content %s: %w", digest, ErrMissing)
}

// Release removes what was removed meanwhile.
func (h *Hold) Release() error {
	err := h.files.clearHeld() // what is moved there meanwhile is told that it is gone
	if err := errors.Join(err, h.lock.Close()); err != nil {
		return fmt.Errorf("release contents: %w", err)
	}
	return nil
}

// remove takes a content from its place: to those that are held while somebody holds them.
func (f *Files) remove(digest string) error {
	if _, err := os.Lstat(f.held()); errors.Is(err, fs.ErrNotExist) {
		return os.Remove(f.path(digest)) // as nearly always
	}
	lock, err := lockDir(f.held())
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = os.Rename(f.path(digest), filepath.Join(f.held(), digest))
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.Remove(f.path(digest)) // the hold has ended, what was left is swept, or the content is gone
	case errors.Is(err, fs.ErrNotExist):
		return os.Remove(f.path(digest))
	case err != nil:
		return err
	}
	// Nobody holds, and nobody can begin to while lock is locked.
	return errors.Join(f.clearHeld(), os.Remove(f.path(digest)), lock.Close())
}

// clearHeld removes what is held, until nothing more comes.
func (f *Files) clearHeld() error {
	for {
		if err := os.RemoveAll(f.held()); !errors.Is(err, unix.ENOTEMPTY) {
			return err
		}
	}
}

func (f *Files) held() string { return filepath.Join(f.dir, held) }

// lockDir locks a directory for one alone: of two that shared the lock to sweep what was left, the
// slower one would remove what somebody holds since then. It is fs.ErrNotExist when it was removed
// before it was locked.
func lockDir(dir string) (*os.File, error) {
	lock, err := os.Open(dir) //nolint:gosec // the caller's own
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	locked, err := lock.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(dir); err == nil && !os.SameFile(locked, there) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// sweepHeld removes what a killed process left that had held the contents.
func (f *Files) sweepHeld() error {
	lock, err := lockDir(f.held())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep held contents: %w", err)
	}
	return errors.Join(f.clearHeld(), lock.Close())
}
