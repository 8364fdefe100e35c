package durable

import (
	"fmt"
	"os"
	"path/filepath"
)

// WriteFile replaces the file path with one that holds data and has exactly the
// permissions perm; the umask does not count. On an error before the rename the old file
// is unchanged and nothing is left beside it.
func WriteFile(path string, data []byte, perm os.FileMode) error {
	f, err := CreateTemp(filepath.Dir(path))
	if err != nil {
		return err
	}
	if err := fill(f, data, perm); err != nil {
		return Discard(f, err)
	}
	if err := Publish(f, path); err != nil {
		return Discard(f, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("close %s: %w", path, err)
	}
	return nil
}

// fill writes data to the temporary file f and sets its permissions.
func fill(f *os.File, data []byte, perm os.FileMode) error {
	if _, err := f.Write(data); err != nil {
		return fmt.Errorf("write temporary file: %w", err)
	}
	if err := f.Chmod(perm); err != nil {
		return fmt.Errorf("set permissions of temporary file: %w", err)
	}
	return nil
}

// Publish syncs the temporary file f, gives it the name path in the same file system,
// replacing what is there, and syncs the directories. f stays open: it is the published
// file. When the rename was not reached f still has its temporary name, to be removed by
// Discard.
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
