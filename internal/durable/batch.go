package durable

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
)

// abreast is how many files and directories are synced concurrently: a file system joins
// concurrent requests into few writes of its journal.
const abreast = 32

// Named is a temporary file with the name that it shall have.
type Named struct {
	File *os.File
	Path string
}

// PublishAll is Publish for many files, in a fraction of the time: all of them are synced
// concurrently before the first is renamed, and each directory is synced once. Directories of
// temporary names are not synced: a name that a crash brings back is left to Sweep. After an
// error some files may have their names, and those are whole.
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
