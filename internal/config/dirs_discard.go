package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/archivefs/archivefs/internal/durable"
)

// missing lists dir and the directories above it that are not there, the deepest first.
func missing(dir string) []string {
	var all []string
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			return all
		}
		all = append(all, dir)
		dir = filepath.Dir(dir)
	}
}

// Discard unlocks the directories as Close does and removes what was made since OpenDirs, for a
// mount that never became usable: nothing was stored yet. What was there before stays, and so
// does a spool that holds something. The caller closes the stores before.
func (d *Dirs) Discard() error {
	if !d.fresh {
		return d.Close()
	}
	if err := d.clear(); err != nil {
		return errors.Join(fmt.Errorf("remove new state directory: %w", err), d.Close())
	}
	err := d.Close()
	d.unmake()
	return err
}

// clear removes what lies in the directories. The binding and the lock go last: with them a
// mount can go on after a crash.
func (d *Dirs) clear() error {
	if slices.Contains(d.made, d.Cache) {
		if err := os.RemoveAll(d.Cache); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(d.State)
	if err != nil {
		return err
	}
	var files []string
	for _, e := range entries {
		path := filepath.Join(d.State, e.Name())
		switch {
		case e.Name() == boundName, e.Name() == lockName:
		case !e.IsDir():
			files = append(files, path)
		default: // the spool, which goes when it is empty, or a cache that another mount makes and removes before it sees the lock
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	if err := removeAll(files); err != nil {
		return err
	}
	// A crash of the machine must not bring back files without the binding: the directory
	// would be taken for somebody else's.
	if err := durable.SyncDir(d.State); err != nil {
		return err
	}
	return removeAll([]string{filepath.Join(d.State, boundName), filepath.Join(d.State, lockName)})
}

func removeAll(files []string) error {
	for _, path := range files {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// unmake removes the directories that OpenDirs made, as far as they are empty.
func (d *Dirs) unmake() { removeEmpty(d.made) }

// removeEmpty removes files, and directories as far as they are empty.
func removeEmpty(paths []string) {
	for _, path := range paths {
		_ = os.Remove(path) // another program may have put something there meanwhile
	}
}
