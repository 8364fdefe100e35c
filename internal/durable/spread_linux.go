package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// topDir is FS_TOPDIR_FL of linux/fs.h: what is made in the directory is not related.
const topDir = 0x00020000

// Spread has the sub-directories of dir placed all over the disk, where the file system has a
// choice (ext4; others refuse it). Near files that were just deleted, ext4 passes over each of
// them for minutes whenever a file is created, which can take longer than all else that a small
// document costs. It is a hint.
func Spread(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the caller's own directory
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // nothing was written
	flags, err := unix.IoctlGetUint32(int(d.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil || flags&topDir != 0 {
		return err
	}
	return unix.IoctlSetPointerInt(int(d.Fd()), unix.FS_IOC_SETFLAGS, int(flags|topDir))
}
