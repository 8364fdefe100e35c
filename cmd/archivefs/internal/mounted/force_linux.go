package mounted

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/fusectl"
)

// forceUnmount aborts the connection of the mount at dir and unmounts it, as root. The error is
// EBUSY if files are open; they return errors from now on.
func forceUnmount(dir string) error { return unix.Unmount(dir, unix.MNT_FORCE|unix.UMOUNT_NOFOLLOW) }

// detachQuickly detaches the mount at dir, without another process if the user may.
func detachQuickly(_ context.Context, dir string) error { return fusectl.Detach(BehindLinks(dir)) }
