//go:build linux

// Command programs lets programs do their work in an archive that is mounted, and compares what the
// service has afterwards with what a person meant. scripts/test-programs starts it.
//
// Exit status: 0 all was as meant, 1 something was not, 2 wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/program"
	"github.com/archivefs/archivefs/internal/lab/programs/page"
	"github.com/archivefs/archivefs/internal/lab/programs/trial"
)

// options say what is tried.
type options struct {
	archivefs, out string
	only           *regexp.Regexp
	at             string
	keep, verbose  bool
}

func main() {
	program.Run("test-programs", func(args []string) (func(context.Context) error, error) {
		o, err := readOptions(args)
		return func(ctx context.Context) error { return run(ctx, o) }, err
	})
}

func readOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("scripts/test-programs", flag.ContinueOnError)
	flags.StringVar(&o.archivefs, "archivefs", "", "`program` to test")
	flags.StringVar(&o.out, "out", "", "`file` for the page")
	only := flags.String("only", "", "`regexp` of the trials, as \"emacs|vim: new\" (all)")
	flags.StringVar(&o.at, "at", "", "one `site`, as \"full, grace\" (all)")
	flags.BoolVar(&o.keep, "keep", false, "keep the files of the sites, with their logs")
	flags.BoolVar(&o.verbose, "v", false, "print what the programs of a trial with a fault said")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 || o.archivefs == "" {
		return o, errors.New("--archivefs is needed, and no operands")
	}
	if *only != "" {
		o.only, err = regexp.Compile(*only)
	}
	return o, err
}

// knowsGrace says whether the mounts of a program have a time of grace.
func knowsGrace(ctx context.Context, archivefs string) bool {
	out, err := exec.CommandContext(ctx, archivefs, "mount", "--help").Output()
	return err == nil && strings.Contains(string(out), "--grace")
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "p")
	if err := errors.Join(err, machine.Adopt()); err != nil {
		return err
	}
	defer func() {
		if o.keep {
			log("kept: %s", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	p := trial.Plan{Program: o.archivefs, Dir: dir, Only: o.only, Log: log}
	for _, c := range trial.Sites(knowsGrace(ctx, o.archivefs)) {
		if o.at == "" || o.at == c.String() {
			p.Sites = append(p.Sites, c)
		}
	}
	all, err := p.Run(ctx)
	if err != nil {
		return err
	}
	bad := 0
	for _, outcome := range all {
		if len(outcome.Faults) == 0 {
			continue
		}
		bad++
		if o.verbose {
			log("--- %s, %s: %s, %s\n%s", outcome.Place.Conditions, outcome.Place, outcome.Program, outcome.Does, outcome.Output)
		}
	}
	log("%d passed, %d failed", len(all)-bad, bad)
	if o.out != "" {
		if err := page.Write(o.out, all); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d were not as meant", bad, len(all))
	}
	return nil
}

func log(format string, args ...any) { fmt.Printf(format+"\n", args...) }
