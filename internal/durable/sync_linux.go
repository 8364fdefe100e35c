package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// BeginSync has the disk begin to write n bytes of f at off, so that a sync that follows
// waits for less. It promises nothing (sync_file_range(2)).
func BeginSync(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE) // the sync tells
}

// SyncData makes the bytes of f, and its length, survive a crash of the machine. Its times
// may not, which spares the disk a write.
func SyncData(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

// Allocate gives an empty file its size in bytes, with room on the disk where the file system can tell it that
// (fallocate(2)), so that to write to it later needs neither.
func Allocate(f *os.File, size int64) error {
	for {
		switch err := unix.Fallocate(int(f.Fd()), 0, 0, size); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return f.Truncate(size)
		default:
			return os.NewSyscallError("fallocate", err)
		}
	}
}
