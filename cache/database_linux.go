package cache

import (
	"fmt"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// release takes the pages of the file out of the memory of this process. They stay in the system's page cache.
func (d *database) release() error {
	return d.view(func(tx *bbolt.Tx) error { // which keeps the mapping where it is
		_, _, errno := unix.Syscall(unix.SYS_MADVISE, tx.DB().Info().Data, uintptr(tx.Size()), unix.MADV_DONTNEED) //nolint:gosec // not negative
		if errno != 0 {
			return fmt.Errorf("madvise: %w", errno)
		}
		return nil
	})
}
