package durable

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// SyncDir makes the names in dir survive a crash of the machine. File systems that
// cannot sync a directory (EINVAL, ENOTSUP) give what they have, without an error.
func SyncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the caller's own directory
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	err = d.Sync()
	closeErr := d.Close()
	if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return fmt.Errorf("sync directory: %w", err)
	}
	if closeErr != nil {
		return fmt.Errorf("sync directory: %w", closeErr)
	}
	return nil
}
