package closing

import "golang.org/x/sys/unix"

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
