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

// mount is a line of /proc/PID/mountinfo; the mount itself is not touched.
type mount struct {
	minor  string // of its device
	kind   string
	target string
}

// mountsBelow returns the mounts below dir, those first that others lie on.
func mountsBelow(dir string) []mount { return mountsSeenBy(os.Getpid(), dir) }

func mountsSeenBy(pid int, dir string) (found []mount) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	for line := range strings.Lines(string(text)) {
		of, kind, _ := strings.Cut(line, " - ")
		fields, kinds := strings.Fields(of), strings.Fields(kind)
		if len(fields) < 5 || len(kinds) == 0 {
			continue
		}
		_, minor, _ := strings.Cut(fields[2], ":")
		if target := unescaped(fields[4]); strings.HasPrefix(target, dir+"/") {
			found = append(found, mount{minor: minor, kind: kinds[0], target: target})
		}
	}
	return found
}

// unescaped reads a path with \040 for a blank.
func unescaped(path string) string {
	for _, c := range []byte{' ', '\t', '\n', '\\'} {
		path = strings.ReplaceAll(path, fmt.Sprintf(`\%03o`, c), string(c))
	}
	return path
}

// connectionsBelow returns the connections of the FUSE file systems that a process sees below dir.
func connectionsBelow(pid int, dir string) (found []fusectl.Connection) {
	var of []mount
	for _, m := range mountsSeenBy(pid, dir) {
		if !strings.HasPrefix(m.kind, "fuse") || m.kind == "fusectl" {
			continue
		}
		minor, err := strconv.ParseUint(m.minor, 10, 32)
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
func (m mount) unmounting() []string {
	if os.Getuid() == 0 {
		return []string{"/bin/umount", "-l", "-i", "-c", m.target}
	}
	return []string{"/usr/bin/fusermount3", "-uz", m.target}
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
		if m.kind != archiveKind || strings.HasPrefix(dir, m.target+"/") {
			continue
		}
		if err := unix.Unmount(m.target, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount a copy of %s: %w", m.target, err)
		}
	}
	return nil
}
