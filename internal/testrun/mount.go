//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// connections is where the kernel lets FUSE connections be aborted.
const connections = "/sys/fs/fuse/connections"

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

// abort has all requests to a FUSE file system fail, so that whoever waits for one goes on. The
// kernel's directory for that is mounted below scratch where nobody has mounted it.
func (m mount) abort(scratch string) {
	if !strings.HasPrefix(m.kind, "fuse") || m.kind == "fusectl" {
		return
	}
	if tryAbort(connections, m.minor) == nil {
		return
	}
	dir := filepath.Join(scratch, "fusectl"+strconv.Itoa(os.Getpid()))
	if os.Mkdir(dir, 0o700) != nil || unix.Mount("none", dir, "fusectl", 0, "") != nil { //nolint:gosec // below what is given
		return
	}
	_ = tryAbort(dir, m.minor)
	_ = unix.Unmount(dir, unix.MNT_DETACH)
	_ = os.Remove(dir) //nolint:gosec // as above
}

func tryAbort(dir, minor string) error {
	file, err := os.OpenFile(filepath.Join(dir, minor, "abort"), os.O_WRONLY, 0) //nolint:gosec // the kernel's
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = file.WriteString("1")
	return err
}

// unmounting is a command that detaches a mount.
func (m mount) unmounting() []string {
	if os.Getuid() == 0 {
		return []string{"/bin/umount", "-l", "-i", "-c", m.target}
	}
	return []string{"/usr/bin/fusermount3", "-uz", m.target}
}
