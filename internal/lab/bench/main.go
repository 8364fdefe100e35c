//go:build linux

// Command bench measures archivefs beside other network mounts and the plain file system,
// and renders what was measured as docs/benchmarks. scripts/bench starts it.
//
// Exit status: 0 all was measured, 1 something failed, 2 wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/corpus"
	"github.com/archivefs/archivefs/internal/lab/bench/report"
	"github.com/archivefs/archivefs/internal/lab/bench/suite"
	"github.com/archivefs/archivefs/internal/lab/program"
)

func main() {
	program.Run("bench", func(args []string) (func(context.Context) error, error) {
		o, render, err := readOptions(args)
		return func(ctx context.Context) error {
			if render.results != "" {
				return report.Write(render.results, render.docs)
			}
			return suite.Run(ctx, o)
		}, err
	})
}

// rendering says what to render, and where to.
type rendering struct{ results, docs string }

func readOptions(args []string) (o suite.Options, render rendering, err error) {
	flags := flag.NewFlagSet("scripts/bench", flag.ContinueOnError)
	scratch := filepath.Join(os.TempDir(), "archivefs-bench")
	flags.StringVar(&o.Dir, "dir", scratch, "scratch `directory` for corpus, servers and mounts; needs 12 GB and is kept")
	flags.StringVar(&o.Program, "archivefs", "", "`program` to measure (default: the one of this tree)")
	flags.StringVar(&o.Results, "results", "", "`file` of results; what is measured replaces what stands there (default DIR/results.json)")
	systems := flags.String("systems", "all", "`names` of systems, or all: "+strings.Join(suite.Systems(), ", "))
	workloads := flags.String("workloads", "all", "`names` of workloads, all, or none (for profiles alone): "+strings.Join(suite.Workloads(), ", "))
	flags.IntVar(&o.Repeats, "repeats", 3, "repeat each workload `N` times")
	flags.DurationVar(&o.Slow, "slow", 25*time.Second, "do not repeat what takes longer than `duration`")
	flags.DurationVar(&o.Delay, "delay", 20*time.Millisecond, "`duration` by which the slow network delays each request")
	scale := flags.String("scale", corpus.Full, "`size` of the corpus: full, or small for a quick look at whether all works")
	flags.Uint64Var(&o.Seed, "seed", 7, "`number` that decides about names and bytes of the corpus")
	flags.StringVar(&o.Profiles, "profiles", "", "take profiles of archivefs, too, and keep their tops in `directory`")
	peers := flags.String("peers", "", "look for programs in `directory` before PATH")
	flags.StringVar(&render.results, "render", "", "measure nothing; render this `file` of results")
	flags.StringVar(&render.docs, "docs", "docs/benchmarks", "`directory` to render into")
	if err := flags.Parse(args); err != nil {
		return o, render, err
	}
	if flags.NArg() > 0 {
		return o, render, fmt.Errorf("%q is no option", flags.Arg(0))
	}
	if o.Shape, err = corpus.ShapeOf(*scale); err != nil {
		return o, render, err
	}
	if o.Systems, err = chosen("system", *systems, suite.Systems()); err != nil {
		return o, render, err
	}
	if o.Workloads, err = chosen("workload", *workloads, suite.Workloads()); err != nil {
		return o, render, err
	}
	if o.Results == "" {
		o.Results = filepath.Join(o.Dir, "results.json")
	}
	o.Log = os.Stdout
	return o, render, errors.Join(absolute(&o), lookIn(*peers))
}

// chosen reads names that are separated by commas.
func chosen(what, text string, all []string) ([]string, error) {
	switch text {
	case "all":
		return all, nil
	case "none":
		return nil, nil
	}
	names := strings.Split(text, ",")
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("there is no %s %q; take some of %s", what, name, strings.Join(all, ", "))
		}
	}
	return names, nil
}

// absolute makes paths that commands use, wherever they run.
func absolute(o *suite.Options) (err error) {
	for _, path := range []*string{&o.Program, &o.Results, &o.Profiles} {
		if *path != "" && err == nil {
			*path, err = filepath.Abs(*path)
		}
	}
	return err
}

// lookIn puts a directory before PATH.
func lookIn(dir string) error {
	if dir == "" {
		return nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	return os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}
