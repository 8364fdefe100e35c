//go:build linux

// Command office exports an archive to an office, by Samba and by FTP, and proves that Windows, Macs and
// scanners can work with it, also many of them for some time. scripts/test-samba, scripts/test-scanners and
// scripts/test-load start it, as root.
//
// Exit status: 0 all went as expected, 1 something did not, 2 wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/office/host"
	"github.com/archivefs/archivefs/internal/lab/office/load"
	"github.com/archivefs/archivefs/internal/lab/office/report"
	"github.com/archivefs/archivefs/internal/lab/office/scanner"
	"github.com/archivefs/archivefs/internal/lab/office/visit"
	"github.com/archivefs/archivefs/internal/lab/program"
)

// options say what is done.
type options struct {
	archivefs, out string
	keep, verbose  bool
	seed           uint64
	jobs, devices  int
	people         int
	long           time.Duration
}

// work is what is done at an archive that begins with some documents.
type work struct {
	documents map[string]string
	do        func(ctx context.Context, a *host.Archive) error
}

func main() {
	program.Run("office", func(args []string) (func(context.Context) error, error) {
		o, w, err := readOptions(args)
		return func(ctx context.Context) error { return run(ctx, o, w) }, err
	})
}

// readOptions reads a command line: samba, scanners or load, and then options.
func readOptions(args []string) (o *options, w work, err error) {
	word := ""
	if len(args) > 0 {
		word, args = args[0], args[1:]
	}
	o = &options{jobs: 1, devices: 1, people: 2, long: time.Minute}
	flags := flag.NewFlagSet("scripts/test-"+word, flag.ContinueOnError)
	flags.StringVar(&o.archivefs, "archivefs", "", "`program` to test")
	flags.StringVar(&o.out, "out", "", "`directory` for the page and its plots")
	flags.BoolVar(&o.keep, "keep", false, "keep the files of the machine, with their logs")
	switch word {
	case "samba":
		w.do = o.clients
	case "scanners":
		w.do = o.scanners
		flags.Uint64Var(&o.seed, "seed", 1, "the `seed` of the plan")
		flags.IntVar(&o.jobs, "jobs", 1000, "how many `jobs` the devices do")
		flags.IntVar(&o.devices, "devices", 6, "how many `devices` there are")
		flags.BoolVar(&o.verbose, "v", false, "print each attempt of a device that failed")
	case "load":
		w.do = o.load
		flags.Uint64Var(&o.seed, "seed", 1, "the `seed` of what people do")
		flags.IntVar(&o.people, "clients", 50, "how many `clients` there are")
		flags.DurationVar(&o.long, "for", 30*time.Minute, "for how `long` they work")
	default:
		return o, w, errors.New("the first word is samba, scanners or load")
	}
	if err := flags.Parse(args); err != nil {
		return o, w, err
	}
	switch {
	case flags.NArg() > 0 || o.archivefs == "":
		return o, w, errors.New("--archivefs is needed, and no operands")
	case o.jobs < 1 || o.devices < 1:
		return o, w, errors.New("jobs and devices are at least 1")
	case o.people < 2 || o.people > 99 || o.long < time.Minute:
		return o, w, errors.New("there are 2 to 99 clients, for a minute at least")
	}
	switch w.documents = host.Old(); word {
	case "samba":
		maps.Copy(w.documents, host.Large())
	case "load":
		w.documents = load.Documents(o.people)
	}
	return o, w, nil
}

// run starts the archive, and does with it what was asked for.
func run(ctx context.Context, o *options, w work) (err error) {
	dir, err := os.MkdirTemp("", "office-*")
	if err := errors.Join(err, machine.Adopt()); err != nil {
		return err
	}
	a, err := host.Serve(ctx, o.archivefs, dir, w.documents)
	if err != nil {
		return err
	}
	defer func() {
		a.Close()
		if o.keep {
			log("kept: %s", dir)
			return
		}
		err = errors.Join(err, a.Remove())
	}()
	return w.do(ctx, a)
}

// load lets people work.
func (o *options) load(ctx context.Context, a *host.Archive) error {
	r, err := load.Run(ctx, a, load.Plan{Seed: o.seed, Clients: o.people, For: o.long}, log)
	if err != nil {
		return err
	}
	r.Print(log)
	if o.out != "" {
		err = r.Write(o.out)
	}
	return errors.Join(err, r.Err())
}

// clients does what Windows and macOS do.
func (o *options) clients(ctx context.Context, a *host.Archive) error {
	chapters, err := visit.Go(ctx, a, log)
	if err != nil {
		return err
	}
	log("%d passed, %d failed", visit.Passed(chapters), visit.Failed(chapters))
	if o.out != "" {
		err = report.Clients(o.out, chapters)
	}
	if visit.Failed(chapters) > 0 {
		err = errors.Join(err, errors.New("some steps did not end as expected"))
	}
	return err
}

// scanners lets devices scan.
func (o *options) scanners(ctx context.Context, a *host.Archive) (err error) {
	verbose := func(string, ...any) {}
	if o.verbose {
		verbose = log
	}
	h, err := host.Export(ctx, a, host.Options{Name: "office", Mount: "--grace 2s --watch 1s", Wire: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	r, err := scanner.Run(ctx, h, scanner.NewPlan(o.seed, o.jobs, o.devices), log, verbose)
	if err != nil {
		return err
	}
	r.Print(os.Stdout)
	if r.Verdict.Broken() > 0 {
		return errors.New("promises were broken: " + strings.Join(r.Verdict.What, "\n"))
	}
	if o.out != "" {
		return report.Scanners(o.out, r)
	}
	return nil
}

func log(format string, args ...any) { fmt.Printf(format+"\n", args...) }
