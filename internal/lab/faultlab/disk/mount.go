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

// busyFor is how long a disk may be in use after its last program was killed.
const busyFor = 10 * time.Second

// Mounted is a disk that is shown at a directory.
type Mounted struct{ server *fuse.Server }

// Unmount unmounts the disk, whose programs have ended. The memory of a process may outlive it for a moment,
// and with it what it had mapped.
func (m *Mounted) Unmount() error {
	deadline := time.Now().Add(busyFor)
	err := m.server.Unmount()
	for err != nil && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
		err = m.server.Unmount()
	}
	if err != nil {
		return fmt.Errorf("unmount the disk: %w", err)
	}
	return nil
}

// Mount shows the disk at the directory dir. This process must not touch what lies below dir: it would
// wait for itself.
func (d *Disk) Mount(dir string) (*Mounted, error) {
	trust := time.Minute // nobody but the kernel changes anything
	server, err := fusefs.Mount(dir, &node{disk: d, ino: d.root}, &fusefs.Options{
		MountOptions: fuse.MountOptions{DirectMount: true, FsName: "forgetful", Name: "disk", DisableXAttrs: true},
		AttrTimeout:  &trust, EntryTimeout: &trust,
		RootStableAttr: &fusefs.StableAttr{Ino: d.root.id},
	})
	if err != nil {
		return nil, fmt.Errorf("mount the forgetful disk: %w", err)
	}
	return &Mounted{server}, keepDevices()
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
