//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// family is what this process has started, and what that has left behind: this process is the
// parent of those whose own one is gone.
type family struct {
	mu      sync.Mutex
	waiting map[int]chan<- syscall.WaitStatus // +checklocks:mu
}

func newFamily() (*family, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become a subreaper: %w", err)
	}
	f := &family{waiting: map[int]chan<- syscall.WaitStatus{}}
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	go func() {
		for range died {
			f.reap()
		}
	}()
	return f, nil
}

// reap takes the status of all that have died.
func (f *family) reap() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if pid <= 0 {
			return
		}
		if waiting := f.waiting[pid]; waiting != nil {
			delete(f.waiting, pid)
			waiting <- status
		}
	}
}

// command is a program to start.
type command struct {
	args   []string
	env    []string       // the last of a name counts
	out    *os.File       // standard output
	err    *os.File       // standard error
	signal syscall.Signal // what it gets when this process is gone
	leads  bool           // it gets a session of its own
	apart  bool           // it gets a mount namespace of its own, where the system lets us
}

// start starts a program without standard input. The channel gets its status.
func (f *family) start(c command) (pid int, status <-chan syscall.WaitStatus, err error) {
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = nothing.Close() }()
	f.mu.Lock()
	defer f.mu.Unlock()
	attributes := syscall.ProcAttr{
		Env:   once(c.env),
		Files: []uintptr{nothing.Fd(), c.out.Fd(), c.err.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: c.leads, Pdeathsig: c.signal},
	}
	if c.apart {
		attributes.Sys.Unshareflags = syscall.CLONE_NEWNS // private
	}
	pid, err = syscall.ForkExec(c.args[0], c.args, &attributes) //nolint:gosec // what go test or this program names
	if c.apart && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL)) {
		attributes.Sys.Unshareflags = 0                             // as in a container, or where / is no mount: a test cannot make a namespace, either
		pid, err = syscall.ForkExec(c.args[0], c.args, &attributes) //nolint:gosec // as above
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", c.args[0], err)
	}
	ended := make(chan syscall.WaitStatus, 1)
	f.waiting[pid] = ended
	return pid, ended, nil
}

// once leaves the last of each name in an environment: a Go program takes the first.
func once(env []string) []string {
	var last []string
	seen := map[string]bool{}
	for _, line := range slices.Backward(env) {
		if name, _, _ := strings.Cut(line, "="); !seen[name] {
			seen[name] = true
			last = append(last, line)
		}
	}
	return last
}

// gone waits until nobody is left, and returns who is after a time.
func (f *family) gone(within time.Duration) []process {
	tick, limit := time.NewTicker(100*time.Millisecond), time.After(within)
	defer tick.Stop()
	for {
		left := descendants(os.Getpid())
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-limit:
			return left
		}
	}
}

// How long clear waits for those who were killed, until it aborts what they may wait for, and
// for those until it gives them up.
const (
	diesWithin  = 2 * time.Second
	freedWithin = 10 * time.Second
)

// clear ends everybody, and removes dir with all that is mounted below it. It waits for nothing
// that hangs, and tells w what stays.
func (f *family) clear(dir string, w io.Writer) {
	before := connectionsBelow(os.Getpid(), dir)
	for _, p := range descendants(os.Getpid()) { // those in namespaces of their own see others
		before = append(before, connectionsBelow(p.pid, dir)...)
	}
	f.kill()
	if left := f.gone(diesWithin); len(left) > 0 {
		before = append(before, connectionsBelow(os.Getpid(), dir)...)
		abort(before)
		f.kill() // also who was started meanwhile
		for _, p := range f.gone(freedWithin) {
			_, _ = fmt.Fprintf(w, "cannot be killed: %s\n", p)
		}
	}
	release(before)
	f.unmountBelow(dir)
	for _, m := range mountsBelow(dir) {
		_, _ = fmt.Fprintf(w, "cannot be unmounted: %s\n", m.Dir)
	}
	if len(mountsBelow(dir)) == 0 { // never through a mount
		if err := os.RemoveAll(dir); err != nil { //nolint:gosec // it is given for that
			_, _ = fmt.Fprintln(w, err)
		}
	}
}

func (f *family) kill() {
	for _, p := range descendants(os.Getpid()) {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// unmountBelow unmounts what lies below dir, by processes that may hang.
func (f *family) unmountBelow(dir string) {
	connections := connectionsBelow(os.Getpid(), dir)
	abort(connections)
	release(connections)
	mounts := mountsBelow(dir)
	void, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer func() { _ = void.Close() }()
	for i := len(mounts) - 1; i >= 0; i-- {
		pid, ended, err := f.start(command{args: unmounting(mounts[i]), env: os.Environ(), out: void, err: void})
		if err != nil {
			continue
		}
		select {
		case <-ended:
		case <-time.After(freedWithin):
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// signals returns a channel of those that end this process, and of others.
func signals(others ...os.Signal) <-chan os.Signal {
	c := make(chan os.Signal, 8)
	signal.Notify(c, append(others, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)...)
	return c
}

// code is what a shell makes of the status of a process.
func code(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
