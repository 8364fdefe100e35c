//go:build linux

// Command testrun DIR [PACKAGE...] runs the checks of scripts/test and always ends with a verdict. What the
// checks start, daemons included, ends with it, and so does what they mount; that holds when a
// process of theirs hangs in the kernel, when the time is over, and when testrun itself is killed.
//
// DIR is for all that the tests write, mounts included, and is removed in the end.
//
// It is four kinds of processes, each the subreaper of what lies below it. The guard, which
// was called, starts the run in a session of its own, and clears up should that be killed. The
// run does the checks, ends when the guard is gone, and starts go test, which starts every package
// by a keeper. A keeper starts the test binary by parts, one or more. A part gives it a mount
// namespace of its own (for root) and a directory for temporary files, and fails it for what it
// leaves there mounted, and for processes.
package main

import (
	"fmt"
	"os"
)

// The first argument says which process this one is.
const (
	asRun    = "-run"
	asKeeper = "-keep"
	asPart   = "-part"
)

func main() {
	args := os.Args[1:]
	switch {
	case len(args) > 1 && args[0] == asRun:
		os.Exit(run(args[1], args[2:]))
	case len(args) > 1 && args[0] == asKeeper:
		os.Exit(keep(args[1:]))
	case len(args) > 2 && args[0] == asPart:
		os.Exit(part(args[1], args[2:]))
	case len(args) > 0:
		os.Exit(guard(args[0], args[1:]))
	}
	_, _ = fmt.Fprintln(os.Stderr, "usage: testrun DIR [PACKAGE...]")
	os.Exit(2)
}
