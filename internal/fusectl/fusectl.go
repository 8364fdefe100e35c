// Package fusectl makes and ends connections between the kernel and the processes behind FUSE mounts, and lists
// what is mounted.
package fusectl

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNone says that the kernel's list of connections does not have the one that is asked for, or cannot be reached.
var ErrNone = errors.New("no such FUSE connection")

// ErrNoHelper says that there is no fusermount3, which mounts for those who may not.
var ErrNoHelper = errors.New("the program fusermount3 is missing")

// Mounted is a mounted file system.
type Mounted struct {
	ID, Device string // of the mount, and of the file system: major:minor
	Dir, Kind  string
	Options    string // of the file system
}

// Mounts are the mounts in the mount namespace of a process (proc_pid_mountinfo(5)), lower ones first; "self" is this
// process. There are none if the process is gone, or the system has no such list.
func Mounts(process string) []Mounted {
	text, _ := os.ReadFile(filepath.Join("/proc", process, "mountinfo")) //nolint:gosec // below /proc
	return parseMounts(string(text))
}

func parseMounts(mountinfo string) (all []Mounted) {
	for line := range strings.Lines(mountinfo) { // as long as the options of an overlay make it
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if of := strings.Fields(after); ok && len(fields) > 4 && len(of) > 0 {
			all = append(all, Mounted{ID: fields[0], Device: fields[2], Dir: Unescape(fields[4]), Kind: of[0], Options: of[len(of)-1]})
		}
	}
	return all
}

// Unescape turns \040 into a blank, and other octal escapes of a path into their characters.
func Unescape(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+3 < len(path) {
			if c, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
