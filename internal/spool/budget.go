package spool

import (
	"fmt"
	"math"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// budget counts the bytes of the spool against its limit and the free space of its disk.
type budget struct {
	limit    int64 // bytes; 0 for none
	reserve  int64 // free bytes to leave on the disk
	diskFree func() (int64, error)

	mu     sync.Mutex
	used   int64 // lengths of all data files; guarded by mu
	flying int64 // bytes being written, which the disk may not count yet; guarded by mu
}

// diskFree returns how many bytes an unprivileged process may still write below dir.
func diskFree(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of the spool: %w", err)
	}
	free := st.Bavail * uint64(st.Bsize) //nolint:gosec // a block size is positive
	return int64(min(free, math.MaxInt64)), nil
}

// free is what may still be written, in bytes.
func (b *budget) free() (int64, error) {
	disk, err := b.diskFree()
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.freeLocked(disk), nil
}

func (b *budget) freeLocked(disk int64) int64 {
	free := disk - b.reserve - b.flying
	if b.limit > 0 {
		free = min(free, b.limit-b.used)
	}
	return max(free, 0)
}

// take books a write of n bytes by which a file grows by grow bytes. The error is ENOSPC
// when there is no room for all of it. Whoever took gives back with done.
func (b *budget) take(n, grow int64) error {
	disk, err := b.diskFree()
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit > 0 && grow > b.limit-b.used {
		return fmt.Errorf("the spool has reached its limit of %d bytes: %w", b.limit, syscall.ENOSPC)
	}
	if n > disk-b.reserve-b.flying {
		return fmt.Errorf("the disk of the spool is full (%d bytes are kept free): %w", b.reserve, syscall.ENOSPC)
	}
	b.used += grow
	b.flying += n
	return nil
}

// done ends a write that took n and grow bytes; the file grew by grown in the end.
func (b *budget) done(n, grow, grown int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flying -= n
	b.used += grown - grow
}

// add counts bytes that are there, or with a negative n no longer.
func (b *budget) add(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += n
}

func (b *budget) total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
