//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

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

// abort has all requests to a FUSE file system fail, so that whoever waits for one goes on.
func (m mount) abort() {
	if !strings.HasPrefix(m.kind, "fuse") || m.kind == "fusectl" {
		return
	}
	if minor, err := strconv.ParseUint(m.minor, 10, 32); err == nil {
		_ = fusectl.Abort(uint32(minor))
	}
}

// unmounting is a command that detaches a mount.
func (m mount) unmounting() []string {
	if os.Getuid() == 0 {
		return []string{"/bin/umount", "-l", "-i", "-c", m.target}
	}
	return []string{"/usr/bin/fusermount3", "-uz", m.target}
}
