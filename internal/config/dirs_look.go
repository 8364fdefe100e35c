package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Seen is what can be seen of the state directories of an archive.
type Seen struct {
	State, Cache string
	Made         bool // a mount has made them
	Busy         bool // a mount is using them
}

// LookDirs looks at the state directories that OpenDirs would open. The error is why OpenDirs
// would fail. It changes nothing.
func LookDirs(dir, identity string) (Seen, error) {
	d, err := dirsOf(dir, identity)
	if err != nil {
		return Seen{}, err
	}
	s := Seen{State: d.State, Cache: d.Cache}
	if err := d.usable(); err != nil {
		return s, err
	}
	if s.Made, err = d.boundTo(identity); s.Made {
		s.Busy, err = locked(filepath.Join(d.State, lockName))
	}
	return s, err
}

// LookHomes looks at where the state directories of any archive lie: dir, or what is above
// those of each.
func LookHomes(dir string) (Seen, error) {
	if dir != "" {
		return Seen{State: dir, Cache: filepath.Join(dir, "cache")}, unused(dir)
	}
	state, err := xdg("XDG_STATE_HOME", ".local/state", "state-dir")
	if err != nil {
		return Seen{}, err
	}
	caches, err := xdg("XDG_CACHE_HOME", ".cache", "state-dir")
	return Seen{State: filepath.Join(state, "archivefs"), Cache: filepath.Join(caches, "archivefs")}, err
}

// locked reports whether a process holds the lock. It takes the lock for a moment, beside
// others that only look.
func locked(path string) (bool, error) {
	f, err := os.Open(path) //nolint:gosec // below our own directory
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("state directory: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
