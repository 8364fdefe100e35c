// Command platforms OS/ARCH... type-checks and vets the packages of the module in the current directory, tests included,
// for other platforms than this one. It finds what go build and go vet find in the module's own packages, but compiles
// nothing: the libraries and the standard library are type-checked from their sources, only as far as the module's
// packages need them. That takes a fraction of the time of a build. Only a build finds mistakes in the bodies of functions
// of libraries: scripts/release builds.
//
// It prints what is wrong, and then ends with 1.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

func main() {
	if len(os.Args) < 2 {
		_, _ = fmt.Fprintln(os.Stderr, "usage: platforms OS/ARCH...")
		os.Exit(2)
	}
	debug.SetGCPercent(400) // it lives for seconds, and nearly all of its memory is in use until the end
	wrong, err := run(".", os.Args[1:], os.Stdout)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "platforms:", err)
	}
	if wrong > 0 || err != nil {
		os.Exit(1)
	}
}

// run checks the module in dir for some platforms, writes what is wrong to w, and returns how much that was.
func run(dir string, platforms []string, w io.Writer) (wrong int, err error) {
	for _, platform := range platforms {
		found, err := check(dir, platform)
		if err != nil {
			return wrong, fmt.Errorf("%s: %w", platform, err)
		}
		for _, line := range found {
			_, _ = fmt.Fprintf(w, "%s: %s\n", platform, line)
		}
		wrong += len(found)
	}
	return wrong, nil
}
