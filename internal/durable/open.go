package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// OpenFile is os.OpenFile for a regular file. Package os tries to have each file polled, which no
// regular file can be, and takes five more system calls to find that out.
func OpenFile(path string, flag int, perm os.FileMode) (*os.File, error) {
	for {
		fd, err := unix.Open(path, flag|unix.O_CLOEXEC, uint32(perm.Perm()))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		default:
			return os.NewFile(uintptr(fd), path), nil
		}
	}
}

// RenameUnsynced renames as os.Rename does, and syncs nothing. Package os looks at the new name first, to
// say in its error that it is a directory's.
func RenameUnsynced(from, to string) error {
	for {
		err := unix.Rename(from, to)
		if !errors.Is(err, unix.EINTR) {
			if err != nil {
				return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
			}
			return nil
		}
	}
}
