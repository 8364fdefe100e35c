package mounted

import (
	"golang.org/x/sys/unix"
)

// forceUnmount aborts the connection of the mount at dir and unmounts it, as root. The error is
// EBUSY if files are open; they return errors from now on.
func forceUnmount(dir string) error { return unix.Unmount(dir, unix.MNT_FORCE|unix.UMOUNT_NOFOLLOW) }
