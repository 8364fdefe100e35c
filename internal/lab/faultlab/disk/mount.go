package disk

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mount shows the disk at the directory dir, until the server it returns is unmounted.
// This process must not touch what lies below dir: it would wait for itself.
func (d *Disk) Mount(dir string) (*fuse.Server, error) {
	trust := time.Minute // nobody but the kernel changes anything
	server, err := fusefs.Mount(dir, &node{disk: d, ino: d.root}, &fusefs.Options{
		MountOptions: fuse.MountOptions{DirectMount: true, FsName: "forgetful", Name: "disk", DisableXAttrs: true},
		AttrTimeout:  &trust, EntryTimeout: &trust,
		RootStableAttr: &fusefs.StableAttr{Ino: d.root.id},
	})
	if err != nil {
		return nil, fmt.Errorf("mount the forgetful disk: %w", err)
	}
	return server, keepDevices()
}

// keepDevices sees to it that no process started later inherits a descriptor of /dev/fuse,
// as go-fuse leaves them: it would hold the disk open beyond the end of this process, and
// programs that use the disk would wait for an answer for ever.
func keepDevices() error {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("mount the forgetful disk: %w", err)
	}
	for _, entry := range fds {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if to, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && to == "/dev/fuse" {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
