package closing

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Doomed reports whether a thread ends as soon as its system call returns: a signal that it does
// not catch has killed it, or it is gone. It is false when that cannot be found out.
func Doomed(pid uint32) bool {
	if pid == 0 {
		return false // a process of another pid namespace
	}
	status := taskStatus(pid, nil)
	if status == nil {
		return errors.Is(unix.Kill(int(pid), 0), unix.ESRCH)
	}
	if state := infoField(status, "State:"); strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X") {
		return true
	}
	pending := signals(status, "SigPnd:") | signals(status, "ShdPnd:")
	kept := signals(status, "SigBlk:") | signals(status, "SigIgn:") | signals(status, "SigCgt:") | harmless
	return pending&(^kept|deadly) != 0
}

// Sets of signals as proc_pid_status(5) shows them: those that by default end no process
// (signal(7)), and the one that cannot be caught.
const (
	harmless = 1<<(unix.SIGCHLD-1) | 1<<(unix.SIGCONT-1) | 1<<(unix.SIGSTOP-1) | 1<<(unix.SIGTSTP-1) |
		1<<(unix.SIGTTIN-1) | 1<<(unix.SIGTTOU-1) | 1<<(unix.SIGURG-1) | 1<<(unix.SIGWINCH-1)
	deadly = 1 << (unix.SIGKILL - 1)
)

// signals reads a set of signals out of a status.
func signals(status []byte, name string) uint64 {
	set, err := strconv.ParseUint(infoField(status, name), 16, 64)
	if err != nil {
		return 0
	}
	return set
}
