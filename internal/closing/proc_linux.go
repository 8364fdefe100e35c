package closing

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/fusectl"
)

// Files of /proc are read without package os, which takes three more system calls for each, to
// find out that it cannot be polled. A close waits for a dozen of them.

// procRoom is room for what most files in /proc hold, in bytes.
const procRoom = 4 << 10

// readOnce is readProc for a file that the kernel writes in one piece (single_open of seq_file), which
// needs no second read to tell that it ended.
func readOnce(path string, buf []byte) ([]byte, error) { return read(path, buf, true) }

// readProc reads a file below /proc by way of buf, which it may use.
func readProc(path string, buf []byte) ([]byte, error) { return read(path, buf, false) }

func read(path string, buf []byte, once bool) ([]byte, error) {
	fd, err := openProc(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	buf = roomIn(buf)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		default:
			buf = buf[:len(buf)+n]
			if n == 0 || once && len(buf) < cap(buf) {
				return buf, nil
			}
		}
	}
}

// direntRoom is more than an entry takes whose name is a number. Where so much room is left there are no more entries.
const direntRoom = 64

// listProc returns the names in a directory below /proc, all of them numbers. It uses buf likewise.
func listProc(path string, buf []byte) ([]string, error) {
	fd, err := openProc(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	var names []string
	buf = roomIn(buf)[:procRoom]
	for {
		n, err := unix.ReadDirent(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case n == 0:
			return names, nil
		default:
			if _, _, names = unix.ParseDirent(buf[:n], -1, names); len(buf)-n >= direntRoom {
				return names, nil
			}
		}
	}
}

// roomIn returns buf without what is in it, or another one where it has not enough room.
func roomIn(buf []byte) []byte {
	if cap(buf) < procRoom {
		return make([]byte, 0, procRoom)
	}
	return buf[:0]
}

func openProc(path string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// Doomed reports whether a thread ends as soon as its system call returns: a signal that it does
// not catch has killed it, or it is gone. It is false when that cannot be found out.
func Doomed(pid uint32) bool { return pends(pid, 0) }

// Asked is Doomed, and true for a thread that catches a signal by which people and systems end programs, too.
func Asked(pid uint32) bool { return pends(pid, endings) }

func pends(pid uint32, evenCaught uint64) bool {
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
	kept := signals(status, "SigBlk:") | signals(status, "SigIgn:") | signals(status, "SigCgt:")&^evenCaught | harmless
	return pending&(^kept|deadly) != 0
}

// Sets of signals as proc_pid_status(5) shows them: those that by default end no process
// (signal(7)), the one that cannot be caught, and those that ask a program to end.
const (
	harmless = 1<<(unix.SIGCHLD-1) | 1<<(unix.SIGCONT-1) | 1<<(unix.SIGSTOP-1) | 1<<(unix.SIGTSTP-1) |
		1<<(unix.SIGTTIN-1) | 1<<(unix.SIGTTOU-1) | 1<<(unix.SIGURG-1) | 1<<(unix.SIGWINCH-1)
	deadly  = 1 << (unix.SIGKILL - 1)
	endings = 1<<(unix.SIGINT-1) | 1<<(unix.SIGTERM-1) | 1<<(unix.SIGQUIT-1) | 1<<(unix.SIGHUP-1)
)

// signals reads a set of signals out of a status.
func signals(status []byte, name string) uint64 {
	set, err := strconv.ParseUint(infoField(status, name), 16, 64)
	if err != nil {
		return 0
	}
	return set
}

// Unseen says which programs cannot be looked at here, so that one which was killed while it wrote cannot
// be told from one that has finished; empty if all can. others says that other users have access.
func (*Mounts) Unseen(others bool) string {
	namespace, err := os.Readlink("/proc/self/ns/pid")
	switch {
	case err != nil:
		return "any program, because /proc is not mounted"
	case otherProc():
		return "any program, because /proc is that of another PID namespace"
	case namespace != "pid:[4026531836]": // PROC_PID_INIT_INO of the kernel
		return "programs outside the PID namespace (the container) that it runs in"
	case others && os.Geteuid() != 0 && hides(fusectl.Mounts("self")):
		return "programs of other users, because /proc is mounted with hidepid"
	}
	return ""
}

// otherProc reports whether /proc has the processes of another PID namespace.
func otherProc() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self != strconv.Itoa(os.Getpid())
}

// hides reports whether /proc is mounted with hidepid (proc(5)).
func hides(all []fusectl.Mounted) (hidden bool) {
	for _, at := range all {
		if at.Dir == "/proc" { // the last one is on top
			_, how, given := strings.Cut(at.Options, "hidepid=")
			hidden = given && !strings.HasPrefix(how, "0") && !strings.HasPrefix(how, "off")
		}
	}
	return hidden
}

// rsyncOf reports whether a process is rsync by its status, and whether it was stopped: before it closes
// what it had got to, it ignores the signal by which its processes end each other (its cleanup.c).
func rsyncOf(status []byte) (rsync, stopped bool) {
	return infoField(status, "Name:") == "rsync", signals(status, "SigIgn:")&(1<<(unix.SIGUSR1-1)) != 0
}

// Finished reports whether the process of a thread is an rsync that has not been stopped.
func Finished(pid uint32) bool {
	rsync, stopped := rsyncOf(taskStatus(pid, nil))
	return rsync && !stopped
}

// Mounts knows the device number of a file system and its mount ids, in every mount namespace that
// it is met in (proc_pid_mountinfo(5)). The zero value takes every device and every id for its own.
type Mounts struct {
	mu sync.Mutex
	// dev is major:minor.
	dev   string              // +checklocks:mu
	known map[string]struct{} // +checklocks:mu
	// proc says that /proc has the processes of another PID namespace.
	proc bool // +checklocks:mu
}

// Learn finds the device number of the mount at mountpoint.
func (m *Mounts) Learn(mountpoint string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.proc = otherProc()
	for _, at := range fusectl.Mounts("self") {
		if at.Dir == mountpoint {
			m.dev = at.Device // the last one is on top
			m.known = map[string]struct{}{at.ID: {}}
		}
	}
}

// foreign reports whether /proc tells nothing of the processes whose ids we get.
func (m *Mounts) foreign() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.proc
}

// ours reports whether the mount id that the process pid uses is one of ours.
func (m *Mounts) ours(pid int, id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dev == "" {
		return true // not known: the descriptor may be one of ours
	}
	if _, ok := m.known[id]; ok {
		return true
	}
	for _, at := range fusectl.Mounts(strconv.Itoa(pid)) {
		if at.ID == id && at.Device == m.dev {
			m.known[id] = struct{}{}
			return true
		}
	}
	return false
}

// device reports whether a device number, hexadecimal as proc_pid_maps(5) shows it, is ours.
func (m *Mounts) device(hex string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dev == "" {
		return true // not known: it may be ours
	}
	var major, minor uint32
	if _, err := fmt.Sscanf(m.dev, "%d:%d", &major, &minor); err != nil {
		return true
	}
	return hex == fmt.Sprintf("%02x:%02x", major, minor)
}
