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
	"os"
	"runtime"

	"github.com/archivefs/archivefs/internal/lab/faultlab/lab"
	"github.com/archivefs/archivefs/internal/lab/program"
)

// wordHelp is the first word of a helper process.
const wordHelp = "help-with"

func main() {
	if len(os.Args) > 1 && os.Args[1] == wordHelp {
		os.Exit(lab.Help(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	program.Run("faults", read)
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

// read reads a command line.
func read(args []string) (work func(context.Context) error, err error) {
	var s settings
	flags := flag.NewFlagSet("scripts/faults", flag.ContinueOnError)
	flags.Uint64Var(&s.seed, "seed", 1, "the seed of all histories")
	flags.Uint64Var(&s.runs, "runs", 100, "how many histories to run")
	flags.Int64Var(&s.only, "only", -1, "run the history of this number alone")
	flags.IntVar(&s.parallel, "parallel", runtime.NumCPU(), "how many runs at once")
	flags.BoolVar(&s.prove, "prove", false, "break archivefs in known ways and show that the lab notices each")
	flags.StringVar(&s.match, "match", "", "with --prove: only mutations with this text in their names")
	flags.BoolVar(&s.keep, "keep", false, "keep the directories of runs that broke a promise")
	flags.BoolVar(&s.verbose, "v", false, "print a line for each run")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 || s.parallel < 1 {
		return nil, errors.New("there are no operands, and --parallel is at least 1")
	}
	return s.run, nil
}

// run runs the histories, or proves the mutations.
func (s settings) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "faultlab-*")
	if err != nil {
		return err
	}
	if !s.keep {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	l := &laboratory{settings: s, dir: dir, out: os.Stdout, errs: os.Stderr}
	work := l.runAll
	if s.prove {
		work = l.prove
	}
	ok, err := work(ctx)
	if err == nil && !ok {
		err = errors.New("not all was as it should be")
	}
	return err
}
