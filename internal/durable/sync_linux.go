package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

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
