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

// Connection is a connection in the kernel's list. It stays that one when it has ended and its number is
// another one's.
type Connection struct{ abort int }

// Find returns the connection of the mounts of a device, by the device's minor number, which the caller
// closes. The number may be another one's since it was learned: so look once more after Find.
func Find(minor uint32) (Connection, error) {
	path := strconv.FormatUint(uint64(minor), 10) + "/abort"
	fd, err := openAt(unix.AT_FDCWD, dir+"/"+path)
	if errors.Is(err, os.ErrNotExist) {
		if list, lerr := open(); lerr == nil {
			defer unix.Close(list) //nolint:errcheck // nothing was written to it
			fd, err = openAt(list, path)
		}
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Connection{}, ErrNone
	case err != nil:
		return Connection{}, fmt.Errorf("abort a FUSE connection: %w", err)
	}
	return Connection{abort: fd}, nil
}

// Abort ends every request of the connection with an error, and every later one. Who mounted may do so,
// and root. It does nothing once the connection has ended.
func (c Connection) Abort() error {
	if _, err := unix.Write(c.abort, []byte("1")); err != nil {
		return fmt.Errorf("abort a FUSE connection: %w", err)
	}
	return nil
}

// Close lets go of the connection, which goes on.
func (c Connection) Close() { _ = unix.Close(c.abort) } // what counts was written

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

func openAt(at int, path string) (int, error) {
	return unix.Openat(at, path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
}
