package fs_test

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails the run if a goroutine, a descriptor or a mount is left behind.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		serveJobs(os.Stdin, os.Stdout)
		return
	}
	if err := uninterrupted(); err != nil {
		println(err.Error())
		os.Exit(1)
	}
	if signal.Ignored(os.Interrupt) { // as in a shell's background job; programs of tests must not inherit that
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	dir, err := os.MkdirTemp("", "fs")
	if err == nil {
		err = os.Setenv("TMPDIR", dir) // mounts below it are those of this package
	}
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	fds := openFiles()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		for _, point := range mountsBelow(dir) {
			println("mount left behind:", point)
			code = 1
		}
		for fd, what := range openFiles() {
			if _, before := fds[fd]; !before && strings.HasPrefix(what, "/") && what != os.DevNull { // other descriptors: the FUSE library's pool of pipes
				println("descriptor left open:", fd, what)
				code = 1
			}
		}
		_ = os.Remove(dir) // it is empty, unless something has failed
		os.Exit(code)
	}))
}

// uninterrupted runs this program again without the signals by which Go preempts threads. One that
// comes while a request waits to be read by the mount makes the kernel fail it (EINTR). The os
// package repeats such calls; tests that use system calls directly do not.
func uninterrupted() error {
	const setting = "asyncpreemptoff=1"
	given := os.Getenv("GODEBUG")
	if strings.Contains(given, setting) {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Setenv("GODEBUG", strings.TrimPrefix(given+","+setting, ",")); err != nil {
		return err
	}
	return syscall.Exec(program, os.Args, os.Environ())
}

// openFiles returns the file of each descriptor of this process.
func openFiles() map[string]string {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	open := map[string]string{}
	for _, fd := range fds {
		if what, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil {
			open[fd.Name()] = what
		}
	}
	return open
}

// mountsBelow lists the mounts of archivefs below a directory.
func mountsBelow(dir string) []string {
	b, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return nil
	}
	var left []string
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) > 2 && f[2] == "fuse.archivefs" && strings.HasPrefix(f[1], dir+"/") {
			left = append(left, f[1])
		}
	}
	return left
}
