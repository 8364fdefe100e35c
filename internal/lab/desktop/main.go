//go:build linux

// Command desktop visits file managers and other programs on a desktop of its own and works
// with an archive in them, and makes docs/desktop of what was seen. scripts/test-desktop
// starts it.
//
// Exit status: 0 all went as expected, 1 something did not, 2 wrong usage.
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

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/desktop/office"
	"github.com/archivefs/archivefs/internal/lab/desktop/report"
	"github.com/archivefs/archivefs/internal/lab/desktop/screen"
	"github.com/archivefs/archivefs/internal/lab/desktop/tour"
	"github.com/archivefs/archivefs/internal/lab/program"
)

// options say what is visited.
type options struct {
	archivefs, packaging, out string
	programs                  []string
	keep                      bool
}

func main() {
	program.Run("test-desktop", func(args []string) (func(context.Context) error, error) {
		o, err := readOptions(args)
		return func(ctx context.Context) error { return run(ctx, o) }, err
	})
}

func readOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("scripts/test-desktop", flag.ContinueOnError)
	flags.StringVar(&o.archivefs, "archivefs", "", "`program` to test")
	flags.StringVar(&o.packaging, "packaging", "", "`directory` of what packages contain beside the program")
	flags.StringVar(&o.out, "out", "", "`directory` for the page and its pictures")
	programs := flags.String("only", "", "`programs` to visit, separated by commas (all): "+strings.Join(tour.Programs(), ", "))
	flags.BoolVar(&o.keep, "keep", false, "keep the homes of the sessions, with their logs")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.programs = tour.Programs()
	if *programs != "" {
		o.programs = strings.Split(*programs, ",")
	}
	for _, p := range o.programs {
		if !slices.Contains(tour.Programs(), p) {
			return o, fmt.Errorf("there is no program %q; take some of %s", p, strings.Join(tour.Programs(), ", "))
		}
	}
	if flags.NArg() > 0 || o.archivefs == "" || o.packaging == "" || o.out == "" {
		return o, errors.New("--archivefs, --packaging and --out are needed, and no operands")
	}
	return o, nil
}

// run visits the programs, each on a desktop and with an archive of its own.
func run(ctx context.Context, o options) error {
	if err := errors.Join(machine.Adopt(), os.MkdirAll(o.out, 0o700)); err != nil {
		return err
	}
	var all []*tour.Visit
	var failed []string
	for _, program := range o.programs {
		v, err := visit(ctx, o, program)
		if err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
		all = append(all, v)
		failed = append(failed, v.Failed()...)
	}
	if err := report.Write(o.out, all); err != nil {
		return err
	}
	if len(failed) > 0 {
		return errors.New(strings.Join(failed, "\n"))
	}
	return ctx.Err()
}

// user is whose home it is.
const user = "erika"

func visit(ctx context.Context, o options, program string) (*tour.Visit, error) {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		return nil, err
	}
	home := filepath.Join(os.TempDir(), user) // a plain path: dialogs show it
	defer func() {
		machine.End(machine.Family(), 5*time.Second) // what programs started by the bus
		switch kept := filepath.Join(dir, user); {
		case o.keep:
			log("%s: kept as %s", program, filepath.Base(dir))
			if err := os.Rename(home, kept); err != nil {
				log("%s: %v", program, err)
			}
		case machine.Mounted(filepath.Join(home, "Archive")) == "":
			_ = errors.Join(os.RemoveAll(home), os.RemoveAll(dir)) // they are below the directory for temporary files
		}
	}()
	s, err := screen.Start(ctx, dir, home)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	archive, err := office.Open(ctx, s, o.archivefs, dir)
	if err != nil {
		return nil, err
	}
	v := tour.Go(ctx, s, archive, program, o.packaging, o.out, log)
	return v, errors.Join(ctx.Err(), archive.Close(context.WithoutCancel(ctx)))
}

func log(format string, args ...any) { fmt.Printf(format+"\n", args...) }
