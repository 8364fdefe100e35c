package mounted

import (
	"golang.org/x/sys/unix"
)

// forceUnmount aborts the connection of the mount at dir and unmounts it, as root may. It is EBUSY where
// files are open, which are of no use any more.
func forceUnmount(dir string) error { return unix.Unmount(dir, unix.MNT_FORCE|unix.UMOUNT_NOFOLLOW) }
