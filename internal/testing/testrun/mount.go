//go:build linux

package main

import (
	"os"
	"slices"
	"strconv"
	"strings"

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
