package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

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
