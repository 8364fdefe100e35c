package spool

import (
	"fmt"
	"math"
	"sync"
	"syscall"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"
)

// budget counts the bytes of the spool against its limit and the free space of its disk.
type budget struct {
	limit    int64 // bytes; 0 for none
	reserve  int64 // free bytes to leave on the disk
	diskFree func() (int64, error)
	// makeRoom frees at least so many bytes of the disk; false: it could free none.
	makeRoom func(int64) bool

	mu sync.Mutex
	// used is the length of all data files.
	used int64 // +checklocks:mu
	// flying counts the bytes being written, which the disk may not count yet.
	flying int64 // +checklocks:mu
}

// errLimit is ENOSPC of the limit, and not of the disk.
var errLimit = fmt.Errorf("%w", syscall.ENOSPC)

// diskFree returns how many bytes an unprivileged process may still write below dir.
func diskFree(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of the disk: %w", err)
	}
	free := st.Bavail * uint64(st.Bsize) //nolint:gosec // a block size is positive
	return int64(min(free, math.MaxInt64)), nil
}

func sizeOf(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("size of the disk: %w", err)
	}
	return int64(min(st.Blocks*uint64(st.Bsize), math.MaxInt64)), nil //nolint:gosec // a block size is positive
}

// free is what may still be written, in bytes.
func (b *budget) free() (int64, error) {
	disk, err := b.diskFree()
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	free := disk - b.reserve - b.flying
	if b.limit > 0 {
		free = min(free, b.limit-b.used)
	}
	return max(free, 0), nil
}

// take books a write of n bytes by which a file grows by grow bytes. The error is ENOSPC
// when there is no room for all of it. Whoever took gives back with done.
func (b *budget) take(n, grow int64) error {
	short, err := b.tryTake(n, grow)
	if err == nil && short > 0 && b.makeRoom(short) {
		short, err = b.tryTake(n, grow)
	}
	if err == nil && short > 0 {
		err = fmt.Errorf("the disk with what waits to be archived is full (%s of it are kept free); make room, or discard uploads that failed: %w",
			humanize.IBytes(uint64(max(b.reserve, 0))), syscall.ENOSPC)
	}
	return err
}

// tryTake books what take is asked for, unless the disk is short of so many bytes.
func (b *budget) tryTake(n, grow int64) (short int64, err error) {
	disk, err := b.diskFree()
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit > 0 && grow > b.limit-b.used {
		return 0, fmt.Errorf("what waits to be archived may take %s in all; let it be archived, discard uploads that failed, or allow more: %w",
			humanize.IBytes(uint64(b.limit)), errLimit)
	}
	if short = n - (disk - b.reserve - b.flying); short > 0 {
		return short, nil
	}
	b.used += grow
	b.flying += n
	return 0, nil
}

// mayTake is the error that take would have now.
func (b *budget) mayTake(n, grow int64) error {
	if n <= 0 {
		return nil
	}
	if err := b.take(n, grow); err != nil {
		return err
	}
	b.done(n, grow, 0)
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
func (b *budget) add(n int64) { b.done(0, 0, n) }

func (b *budget) total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
