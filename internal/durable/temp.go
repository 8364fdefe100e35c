package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

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

// Discard closes and removes the temporary file f and returns cause, so that a failure
// reads `return Discard(f, err)`. What cannot be removed is left to Sweep. A file that
// Publish has renamed is only closed.
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
