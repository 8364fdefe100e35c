package fs

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// Flags of a task (linux/sched.h), as field 9 of proc_pid_stat(5) shows them.
const (
	pfExiting  = 0x4
	pfSignaled = 0x400
)

// lookLimit bounds the look at a process. A close-on-exec close comes from inside execve,
// which holds the lock that /proc waits for: the look ends only after the close, and the
// time-out tells that the file goes on in the new program.
const lookLimit = 100 * time.Millisecond

// threadGroup returns the process that a thread belongs to, 0 when it cannot be told.
func threadGroup(pid uint32) int {
	if pid == 0 {
		return 0 // a process of another pid namespace
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(int(pid)) + "/status")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), "\nTgid:")
	if !ok {
		return 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	tgid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return 0
	}
	return tgid
}

// examineClose finds out what it means that the thread pid closed a descriptor of the
// file with the inode number ino, which the process opener had opened.
func examineClose(pid uint32, opener int, ino uint64, mounts *mountIDs) closing {
	result := make(chan closing, 1)
	go func() { result <- lookAtCloser(pid, opener, ino, mounts) }()
	timer := time.NewTimer(lookLimit)
	defer timer.Stop()
	select {
	case c := <-result:
		return c
	case <-timer.C:
		return closeUnknown
	}
}

func lookAtCloser(pid uint32, opener int, ino uint64, mounts *mountIDs) closing {
	group := threadGroup(pid)
	if group == 0 {
		return closeUnknown
	}
	if flags := taskFlags(pid); flags&pfExiting != 0 && flags&pfSignaled != 0 {
		if group == opener || opener == 0 {
			return closeKilled
		}
		return closeMore
	}
	if opener == 0 {
		return closeUnknown
	}
	if group != opener {
		return closeMore
	}
	if c := otherDescriptors(group, ino, mounts); c != closeLast {
		return c
	}
	if mapped(group, ino) {
		return closeUnknown // what is stored through the mapping comes later
	}
	return closeLast
}

// taskFlags returns the flags of a thread, 0 when it is gone.
func taskFlags(pid uint32) uint64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(int(pid)) + "/stat")
	if err != nil {
		return 0
	}
	s := string(b) // "PID (NAME) STATE ...": the name may hold blanks and parentheses
	fields := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(fields) < 7 {
		return 0
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	if err != nil {
		return 0
	}
	return flags
}

// otherDescriptors looks for open descriptors of the file in a process.
func otherDescriptors(group int, ino uint64, mounts *mountIDs) closing {
	dir := "/proc/" + strconv.Itoa(group) + "/fdinfo"
	fds, err := os.ReadDir(dir)
	if err != nil {
		return closeLast // the process is exiting: its descriptors are gone
	}
	want := strconv.FormatUint(ino, 10)
	for _, fd := range fds {
		b, err := os.ReadFile(dir + "/" + fd.Name()) //nolint:gosec // below /proc
		if err != nil {
			continue // closed meanwhile
		}
		if infoField(b, "ino:") == want && mounts.ours(group, infoField(b, "mnt_id:")) {
			return closeMore
		}
	}
	return closeLast
}

// mapped reports whether a process has a file of that inode number mapped shared and
// writable (proc_pid_maps(5)). A file of another file system with the same number counts
// too: then the end shows at release.
func mapped(group int, ino uint64) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(group) + "/maps")
	if err != nil {
		return false // the process is exiting: its mappings are gone
	}
	want := strconv.FormatUint(ino, 10)
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line) // address perms offset dev inode path
		if len(f) > 4 && f[4] == want && f[1][1] == 'w' && f[1][3] == 's' {
			return true
		}
	}
	return false
}

// infoField returns a field of a /proc/PID/fdinfo file.
func infoField(info []byte, name string) string {
	for line := range strings.Lines(string(info)) {
		if v, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
