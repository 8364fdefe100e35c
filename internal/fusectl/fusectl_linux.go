package fusectl

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// dir is where the kernel's list of connections is mounted, if it is.
const dir = "/sys/fs/fuse/connections"

// Abort aborts the connection of the mounts of a device, by the device's minor number: every
// request of it ends with an error, and so does every later one. Who mounted may do so, and root.
func Abort(minor uint32) error {
	path := strconv.FormatUint(uint64(minor), 10) + "/abort"
	err := write(unix.AT_FDCWD, dir+"/"+path)
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if list, lerr := open(); lerr == nil {
		defer unix.Close(list) //nolint:errcheck // nothing was written to it
		err = write(list, path)
	}
	if errors.Is(err, os.ErrNotExist) {
		return ErrNone
	}
	return err
}

// open opens the list where it is not mounted, which takes root. Nobody else sees that.
func open() (int, error) {
	fs, err := unix.Fsopen("fusectl", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs) //nolint:errcheck // the mount stays
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
}

func write(at int, path string) error {
	fd, err := unix.Openat(at, path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("abort a FUSE connection: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // what counts is the write
	if _, err := unix.Write(fd, []byte("1")); err != nil {
		return fmt.Errorf("abort a FUSE connection: %w", err)
	}
	return nil
}
