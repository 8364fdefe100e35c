//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// How long a package may take to end: by its own time-out, when nothing is left to test, and
// when it is to stop.
const (
	overdueBy  = 30 * time.Second
	endsWithin = 30 * time.Second
	stopWithin = 5 * time.Second
)

// sideBySide is how many tests of a package run at once (go test -parallel), and how many of their
// goroutines: one that waits in the kernel for its own process, which serves the mount, keeps others
// from running until the runtime notices.
const sideBySide = 8

// worked begins the line in which a keeper says at last how long processors worked for its package.
const worked = "this package took "

// keep runs the tests of a package, in as many parts as it wants, and ends when they have.
func keep(args []string) int {
	f, err := child()
	var dir string
	if err == nil {
		dir, err = temporary()
	}
	if err != nil {
		return failed(err)
	}
	caught := signals(syscall.SIGQUIT)
	t, err := f.startParts(args, dir)
	if err != nil {
		f.clear(dir, os.Stdout)
		return failed(err)
	}
	for {
		select {
		case s := <-caught:
			for _, pid := range t.pids {
				_ = syscall.Kill(pid, s.(syscall.Signal))
			}
		case code := <-t.ended:
			code = max(code, f.left(dir))
			if t.said != nil {
				t.said.end(code)
			}
			var used unix.Rusage
			if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &used); err == nil {
				fmt.Printf("%s%d s in programs, %d s in the kernel\n", worked, used.Utime.Sec, used.Stime.Sec)
			}
			return code
		}
	}
}

// part runs a test binary in the mount namespace of this process. It fails when that leaves a process
// or a mount below dir, and when its own time-out does not end it.
func part(dir string, args []string) int {
	f, err := child()
	if err == nil {
		err = unmountCopies(dir)
	}
	if err != nil {
		return failed(err)
	}
	caught := signals(syscall.SIGQUIT)
	pid, ended, err := f.start(command{args: args, env: os.Environ(), out: os.Stdout, err: os.Stderr, signal: syscall.SIGKILL})
	if err != nil {
		return failed(err)
	}
	overdue := time.After(timeout(args) + overdueBy)
	for {
		select {
		case s := <-caught:
			if s == syscall.SIGQUIT {
				quit(pid)
				continue
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
			f.gone(stopWithin) // what it began may clear up after itself
			f.clear(dir, os.Stdout)
			return 1
		case status := <-ended:
			return max(code(status), f.left(dir))
		case <-overdue:
			fmt.Println("its time-out has not ended it:")
			for _, p := range descendants(os.Getpid()) {
				fmt.Print(p.standing())
			}
			f.clear(dir, os.Stdout)
			return 1
		}
	}
}

// child makes the family of a process that ends with its parent.
func child() (*family, error) {
	runtime.LockOSThread() // the signal is for as long as this thread
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0); err != nil {
		return nil, err
	}
	return newFamily()
}

// quit has a process say where its goroutines are. The kernel may choose a thread that hangs
// for a signal to the process, so every thread gets it.
func quit(pid int) {
	for _, dir := range (process{pid: pid}).threads() {
		if thread, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			_ = unix.Tgkill(pid, thread, syscall.SIGQUIT)
		}
	}
}

// left names what a package has left behind, ends it, and returns 1 if there was anything.
func (f *family) left(dir string) (code int) {
	for _, p := range f.gone(endsWithin) {
		fmt.Printf("left behind: %s", p.standing())
		code = 1
	}
	for _, m := range mountsBelow(dir) {
		fmt.Printf("left mounted: %s\n", m.Dir)
		code = 1
	}
	f.clear(dir, os.Stdout)
	return code
}

// timeout is that of a test binary.
func timeout(args []string) time.Duration {
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg, "-test.timeout="); ok {
			if d, err := time.ParseDuration(value); err == nil && d > 0 {
				return d
			}
		}
	}
	return packageTimeout
}

// temporary makes a directory in which anybody can make files, as in /tmp: a test may run a
// program as somebody else. Its name is short because sockets lie below it.
func temporary() (string, error) {
	return publicDir(filepath.Join(os.TempDir(), strconv.Itoa(os.Getpid())))
}

func publicDir(dir string) (string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o777|os.ModeSticky)
}
