//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/fusectl"
)

// mount is one that is looked at without being touched.
type mount = fusectl.Mounted

// mountsBelow returns the mounts below dir, those first that others lie on.
func mountsBelow(dir string) []mount { return mountsSeenBy(os.Getpid(), dir) }

func mountsSeenBy(pid int, dir string) []mount {
	return slices.DeleteFunc(fusectl.Mounts(strconv.Itoa(pid)), func(m mount) bool { return !strings.HasPrefix(m.Dir, dir+"/") })
}

// connectionsBelow returns the connections of the FUSE file systems that a process sees below dir.
func connectionsBelow(pid int, dir string) (found []fusectl.Connection) {
	var of []mount
	for _, m := range mountsSeenBy(pid, dir) {
		if !strings.HasPrefix(m.Kind, "fuse") || m.Kind == "fusectl" {
			continue
		}
		_, number, _ := strings.Cut(m.Device, ":")
		minor, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			continue
		}
		if c, err := fusectl.Find(uint32(minor)); err == nil {
			found, of = append(found, c), append(of, m)
		}
	}
	still := mountsSeenBy(pid, dir)
	for i := len(of) - 1; i >= 0; i-- {
		if !slices.Contains(still, of[i]) { // its number may be another one's
			found[i].Close()
			found = slices.Delete(found, i, i+1)
		}
	}
	return found
}

// abort has all requests to these FUSE file systems fail, so that whoever waits for one goes on.
func abort(connections []fusectl.Connection) {
	for _, c := range connections {
		_ = c.Abort()
	}
}

func release(connections []fusectl.Connection) {
	for _, c := range connections {
		c.Close()
	}
}

// unmounting is a command that detaches a mount.
func unmounting(m mount) []string {
	if os.Getuid() == 0 {
		return []string{"/bin/umount", "-l", "-i", "-c", m.Dir}
	}
	return []string{"/usr/bin/fusermount3", "-uz", m.Dir}
}

// archiveKind is the file system of our mounts.
const archiveKind = "fuse.archivefs"

// unmountCopies unmounts the archives that a namespace of this process has from that of its parent: it would
// hold them, so that their processes could not end. It leaves that on which dir lies.
func unmountCopies(dir string) error {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return err
	}
	parents, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", os.Getppid()))
	if err != nil || own == parents {
		return err
	}
	for _, m := range slices.Backward(mountsBelow("")) {
		if m.Kind != archiveKind || strings.HasPrefix(dir, m.Dir+"/") {
			continue
		}
		if err := unix.Unmount(m.Dir, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount a copy of %s: %w", m.Dir, err)
		}
	}
	return nil
}
