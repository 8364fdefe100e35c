package closing

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Flags of a task (linux/sched.h), as field 9 of proc_pid_stat(5) shows them.
const (
	pfExiting  = 0x4
	pfSignaled = 0x400
)

// lookLimit bounds the look at a process. It takes microseconds, under heavy load longer. A look at a process inside
// execve would deadlock, as execve waits for us; inExec recognises that beforehand, so the limit can be generous.
const lookLimit = 5 * time.Second

// ThreadGroup returns the process that a thread belongs to, 0 when that cannot be found out.
func ThreadGroup(pid uint32) int {
	if first := int(pid); first != 0 {
		// The first thread of a process has its id. Without a signal tgkill(2) only checks that.
		if err := unix.Tgkill(first, first, 0); err == nil || errors.Is(err, unix.EPERM) {
			return first
		}
	}
	return tgid(taskStatus(pid, nil))
}

// Program returns what the kernel keeps of the name of the program that a process runs, and its parent; "" and 0
// when that cannot be found out.
func Program(process int) (name string, parent int) {
	status := taskStatus(uint32(process), nil) //nolint:gosec // the id of a process
	parent, err := strconv.Atoi(infoField(status, "PPid:"))
	if err != nil {
		return "", 0
	}
	return infoField(status, "Name:"), parent
}

// taskStatus is what proc_pid_status(5) shows of a thread, nil when it cannot be read. No lock
// holds it up. It uses buf as readProc does.
func taskStatus(pid uint32, buf []byte) []byte {
	if pid == 0 {
		return nil // a process of another pid namespace
	}
	b, err := readOnce("/proc/"+strconv.Itoa(int(pid))+"/status", buf)
	if err != nil {
		return nil
	}
	return b
}

func tgid(status []byte) int {
	group, err := strconv.Atoi(infoField(status, "Tgid:"))
	if err != nil {
		return 0
	}
	return group
}

// inExec reports whether a process is inside execve, by its status: it has the new memory
// already, and no program in it yet. At this moment descriptors are closed on exec, under a lock
// (exec_update_lock) for which other files of /proc/PID wait, at least stat and maps.
func inExec(status []byte) bool { return infoField(status, "VmExe:") == "0 kB" }

// Examine finds out what it means that the thread pid closed a descriptor of the file with the inode number ino, which
// the process opener had opened. mappable says that somebody has opened the file for reading and writing, without which
// nobody writes to it through a mapping (mmap(2)).
func Examine(pid uint32, opener int, ino uint64, mappable bool, mounts *Mounts) Meaning {
	result := make(chan Meaning, 1)
	go func() {
		meaning := look(pid, opener, ino, mounts)
		if meaning == Last && mappable && mapped(opener, ino, mounts) {
			meaning = Unknown // what is stored through the mapping comes later
		}
		result <- meaning
	}()
	select {
	case c := <-result:
		return c
	case <-time.After(lookLimit):
		return Unknown
	}
}

// look is Examine without regard to mappings.
func look(pid uint32, opener int, ino uint64, mounts *Mounts) Meaning {
	buf := make([]byte, 0, procRoom)
	status := taskStatus(pid, buf)
	group := tgid(status)
	if group == 0 || mounts.foreign() {
		return Unseen
	}
	if inExec(status) {
		if group == opener || opener == 0 {
			return Unknown
		}
		return More // what a program starts does not get what that has open
	}
	if rsync, stopped := rsyncOf(status); rsync && stopped && group == opener {
		return Stopped
	}
	// The only thread of a process waits for us: it starts no others meanwhile, and had no descriptors
	// any more if it were exiting.
	var fds []string
	alone := group == opener && group == int(pid) && infoField(status, "Threads:") == "1"
	if alone {
		fds = descriptors(opener, buf)
	}
	if len(fds) == 0 {
		if flags := taskFlags(pid, buf); flags&pfExiting != 0 && flags&pfSignaled != 0 {
			if group == opener || opener == 0 {
				return Killed
			}
			return More
		}
	}
	if opener == 0 {
		return Unknown
	}
	if !alone {
		fds = descriptors(opener, buf)
	}
	switch {
	case holds(opener, fds, ino, mounts, 0, buf):
		return More
	case inherited(opener, alone, ino, mounts, buf):
		if group == opener {
			return Inherited // what they still write belongs to the file
		}
		return More
	case group == opener:
		return Last
	}
	return Unknown // a process that the opener left behind may have it, too
}

// taskFlags returns the flags of a thread, 0 when it is gone.
func taskFlags(pid uint32, buf []byte) uint64 {
	b, err := readOnce("/proc/"+strconv.Itoa(int(pid))+"/stat", buf)
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

func infoDir(group int) string { return "/proc/" + strconv.Itoa(group) + "/fdinfo" }

// descriptors are those of a process; none if it is exiting, because they are gone then.
func descriptors(group int, buf []byte) []string {
	fds, err := listProc(infoDir(group), buf)
	if err != nil {
		return nil
	}
	return fds
}

// holds reports whether a process has the file open, by one of its descriptors fds that has none of the flags without
// (open(2)).
func holds(group int, fds []string, ino uint64, mounts *Mounts, without uint64, buf []byte) bool {
	dir := infoDir(group)
	want := strconv.FormatUint(ino, 10)
	for _, fd := range fds {
		b, err := readOnce(dir+"/"+fd, buf)
		if err != nil {
			continue // closed meanwhile
		}
		if infoField(b, "ino:") != want {
			continue
		}
		flags, err := strconv.ParseUint(infoField(b, "flags:"), 8, 64)
		if err == nil && flags&without != 0 {
			continue
		}
		if mounts.ours(group, infoField(b, "mnt_id:")) {
			return true
		}
	}
	return false
}

// mostDescendants bounds how many processes are asked what they inherited.
const mostDescendants = 64

// inherited reports whether a descendant of the opener holds the file open: in `(a; b &) > f` the file is not complete
// when the shell closes it. One that has another parent by then is not found. What the kernel closes before a
// descendant runs another program is not inherited. alone says that the opener has one thread.
func inherited(opener int, alone bool, ino uint64, mounts *Mounts, buf []byte) bool {
	var below []int
	if alone {
		below = childrenOf(opener, strconv.Itoa(opener), nil, buf)
	} else {
		below = children(opener, buf)
	}
	for n := 0; n < len(below) && n < mostDescendants; n++ {
		var closed uint64
		if starting(below[n], opener, buf) {
			closed = unix.O_CLOEXEC
		}
		if holds(below[n], descriptors(below[n], buf), ino, mounts, closed, buf) {
			return true
		}
		below = append(below, children(below[n], buf)...)
	}
	return false
}

// starting reports whether a process that the opener has started is about to run another program:
// it is inside execve, or shares the opener's memory, as between vfork(2) and execve. Most programs
// start others like that (posix_spawn(3)), and one with many threads may close a file meanwhile.
func starting(pid, opener int, buf []byte) bool {
	const memory = 1 // KCMP_VM of kcmp(2)
	different, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(opener), memory, 0, 0, 0)
	return errno == 0 && different == 0 || inExec(taskStatus(uint32(pid), buf)) //nolint:gosec // a pid
}

// children are the processes that a process has started and not waited for (proc_pid_task(5));
// none where the kernel does not list them.
func children(group int, buf []byte) []int {
	threads, err := listProc("/proc/"+strconv.Itoa(group)+"/task", buf)
	if err != nil {
		return nil // the process is gone
	}
	var all []int
	for _, thread := range threads {
		all = childrenOf(group, thread, all, buf)
	}
	return all
}

// childrenOf appends the processes that a thread has started.
func childrenOf(group int, thread string, all []int, buf []byte) []int {
	b, err := readProc("/proc/"+strconv.Itoa(group)+"/task/"+thread+"/children", buf)
	if err != nil {
		return all
	}
	for field := range strings.FieldsSeq(string(b)) {
		if pid, err := strconv.Atoi(field); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// mapped reports whether a process has the file mapped shared and writable (proc_pid_maps(5)).
func mapped(group int, ino uint64, mounts *Mounts) bool {
	b, err := readProc("/proc/"+strconv.Itoa(group)+"/maps", nil)
	if err != nil {
		return false // the process is exiting: its mappings are gone
	}
	want := strconv.FormatUint(ino, 10)
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line) // address perms offset dev inode path
		if len(f) > 4 && f[4] == want && f[1][1] == 'w' && f[1][3] == 's' && mounts.device(f[3]) {
			return true
		}
	}
	return false
}

// infoField returns a field of a file in /proc that has one in each line.
func infoField(info []byte, name string) string {
	for line := range bytes.Lines(info) {
		if v, ok := bytes.CutPrefix(line, []byte(name)); ok {
			return string(bytes.TrimSpace(v))
		}
	}
	return ""
}
