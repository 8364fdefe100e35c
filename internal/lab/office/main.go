//go:build linux

// Command office exports an archive to an office, by Samba and by FTP, and proves that Windows, Macs and
// scanners can work with it. scripts/test-samba and scripts/test-scanners start it, as root.
//
// Exit status: 0 all went as expected, 1 something did not, 2 wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/office/host"
	"github.com/archivefs/archivefs/internal/lab/office/report"
	"github.com/archivefs/archivefs/internal/lab/office/scanner"
	"github.com/archivefs/archivefs/internal/lab/office/visit"
)

// options say what is done.
type options struct {
	archivefs, out string
	keep, verbose  bool
	seed           uint64
	jobs, devices  int
	work           func(ctx context.Context, o *options, h *host.Host) error
}

func main() {
	o, err := readOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "office:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &o); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "office: FAILED\n%v\n", err)
		os.Exit(1) // stop has nothing left to do
	}
}

// readOptions reads a command line: samba or scanners, and then options.
func readOptions(args []string) (o options, err error) {
	word := ""
	if len(args) > 0 {
		word, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("scripts/test-"+word, flag.ContinueOnError)
	flags.StringVar(&o.archivefs, "archivefs", "", "`program` to test")
	flags.StringVar(&o.out, "out", "", "`directory` for the page")
	flags.BoolVar(&o.keep, "keep", false, "keep the files of the machine, with their logs")
	switch word {
	case "samba":
		o.work = clients
	case "scanners":
		o.work = scanners
		flags.Uint64Var(&o.seed, "seed", 1, "the `seed` of the plan")
		flags.IntVar(&o.jobs, "jobs", 1000, "how many `jobs` the devices do")
		flags.IntVar(&o.devices, "devices", 6, "how many `devices` there are")
		flags.BoolVar(&o.verbose, "v", false, "print each attempt of a device that failed")
	default:
		return o, errors.New("the first word is samba or scanners")
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 || o.archivefs == "" || word == "scanners" && (o.jobs < 1 || o.devices < 1) {
		return o, errors.New("--archivefs is needed, and no operands; jobs and devices are at least 1")
	}
	return o, nil
}

// run starts the machine, and does with it what was asked for.
func run(ctx context.Context, o *options) (err error) {
	dir, err := os.MkdirTemp("", "office-*")
	if err := errors.Join(err, machine.Adopt()); err != nil {
		return err
	}
	h, err := host.Open(ctx, o.archivefs, dir)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, h.Close(context.WithoutCancel(ctx)))
		switch {
		case o.keep:
			log("kept: %s", dir)
		case machine.Mounted(h.Mount) == "":
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	return o.work(ctx, o, h)
}

// clients does what Windows and macOS do.
func clients(ctx context.Context, o *options, h *host.Host) error {
	chapters, err := visit.Go(ctx, h, log)
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
func scanners(ctx context.Context, o *options, h *host.Host) error {
	verbose := func(string, ...any) {}
	if o.verbose {
		verbose = log
	}
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
