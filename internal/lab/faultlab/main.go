//go:build linux

// Command faultlab proves the promises about data with the real archivefs: it mounts an
// archive again and again, lets programs write while the network, the disk, the programs
// and the machine fail, and compares what they were told with what the archive holds.
// docs/ARCHITECTURE.md has a section about it; scripts/faults starts it.
//
// Exit status: 0 no promise was broken (with --prove: each mutation was noticed), 1 one was,
// or a run could not be judged, 2 wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/archivefs/archivefs/internal/lab/faultlab/lab"
)

// wordHelp is the first word of a helper process.
const wordHelp = "help-with"

func main() {
	if len(os.Args) > 1 && os.Args[1] == wordHelp {
		os.Exit(lab.Help(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are the options of a command line.
type settings struct {
	seed     uint64
	runs     uint64
	only     int64
	parallel int
	prove    bool
	match    string
	keep     bool
	verbose  bool
}

// run carries out a command line and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var s settings
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Uint64Var(&s.seed, "seed", 1, "the seed of all histories")
	flags.Uint64Var(&s.runs, "runs", 100, "how many histories to run")
	flags.Int64Var(&s.only, "only", -1, "run the history of this number alone")
	flags.IntVar(&s.parallel, "parallel", runtime.NumCPU(), "how many runs at once")
	flags.BoolVar(&s.prove, "prove", false, "break archivefs in known ways and show that the lab notices each")
	flags.StringVar(&s.match, "match", "", "with --prove: only mutations with this text in their names")
	flags.BoolVar(&s.keep, "keep", false, "keep the directories of runs that broke a promise")
	flags.BoolVar(&s.verbose, "v", false, "print a line for each run")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil || flags.NArg() > 0 || s.parallel < 1:
		return 2
	}
	dir, err := os.MkdirTemp("", "faultlab-*")
	if err != nil {
		fmt.Fprintln(stderr, err) //nolint:errcheck // nowhere to say it
		return 1
	}
	l := &laboratory{settings: s, dir: dir, out: stdout, errs: stderr}
	work := l.runAll
	if s.prove {
		work = l.prove
	}
	ok, err := work(ctx)
	if err != nil {
		fmt.Fprintf(stderr, "faults: %v\n", err) //nolint:errcheck // nowhere to say it
	}
	if !s.keep {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintf(stderr, "faults: %v\n", err) //nolint:errcheck // nowhere to say it
			return 1
		}
	}
	if !ok || err != nil {
		return 1
	}
	return 0
}
