//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// guard starts the run and clears up after one that was killed. Signals go on to the run.
func guard(work string, patterns []string) int {
	runtime.LockOSThread() // the run gets its signal when the thread that began it ends
	program, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	f, err := newFamily()
	if err != nil {
		return failed(err)
	}
	caught := signals(syscall.SIGQUIT, syscall.SIGALRM)
	pid, ended, err := f.start(command{
		args: append([]string{program, asRun, work}, patterns...), env: append(os.Environ(), "TMPDIR="+work),
		out: os.Stdout, err: os.Stderr, signal: syscall.SIGTERM, leads: true,
	})
	if err != nil {
		return failed(err)
	}
	for {
		select {
		case s := <-caught:
			_ = syscall.Kill(pid, s.(syscall.Signal))
		case status := <-ended:
			f.clear(work, os.Stderr)
			return code(status)
		}
	}
}

func failed(err error) int {
	_, _ = fmt.Fprintln(os.Stderr, "testrun:", err)
	return 1
}
