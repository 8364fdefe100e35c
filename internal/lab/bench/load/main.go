//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/program"
)

// options say what is measured.
type options struct {
	program     string // archivefs
	dir         string // scratch
	sizes       []int  // of the archive, in documents
	connections []int
	each        time.Duration
	out         string        // of the page; empty for standard output
	engines     int           // pairs of rounds with and without the programs that read documents; 0 for the page
	uploads     int           // in each round
	pace        float64       // of uploads, a second
	after       time.Duration // of a round, in which the service reads on
}

func main() {
	program.Run("load", func(args []string) (func(context.Context) error, error) {
		o, err := readOptions(args)
		return func(ctx context.Context) error { return run(ctx, o) }, err
	})
}

func readOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("scripts/bench-serve", flag.ContinueOnError)
	flags.StringVar(&o.program, "archivefs", "", "`program` to measure")
	flags.StringVar(&o.dir, "dir", os.TempDir(), "`directory` for the archive, which needs 2 GB and goes at the end")
	sizes := flags.String("sizes", "10000,100000,1000000", "`numbers` of documents, ascending thousands")
	connections := flags.String("connections", "1,16", "`numbers` of connections")
	flags.DurationVar(&o.each, "each", 4*time.Second, "`duration` of each measurement")
	flags.StringVar(&o.out, "out", "", "`file` to write the page to, instead of standard output")
	flags.IntVar(&o.engines, "engines", 0, "`number` of pairs of rounds in which four clients upload, with and without the programs that read documents, instead of the page")
	flags.IntVar(&o.uploads, "uploads", 1000, "`number` of uploads in each of these rounds")
	flags.Float64Var(&o.pace, "pace", 5, "`number` of uploads a second in them")
	flags.DurationVar(&o.after, "after", time.Minute, "`duration` after the uploads in which the service is watched")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 || o.program == "" {
		return o, errors.New("give --archivefs and no operands")
	}
	if o.engines < 0 || o.uploads < clients || o.pace <= 0 {
		return o, fmt.Errorf("at least %d uploads at a pace above 0 make a round", clients)
	}
	var err1, err2 error
	o.sizes, err1 = numbers(*sizes, folderSize)
	o.connections, err2 = numbers(*connections, 1)
	return o, errors.Join(err1, err2)
}

// numbers reads multiples of unit that are separated by commas.
func numbers(text string, unit int) (all []int, err error) {
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < unit || n%unit != 0 {
			return nil, fmt.Errorf("%q is no multiple of %d", word, unit)
		}
		all = append(all, n)
	}
	return all, nil
}

// run measures at each size of the archive and writes the page.
func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp(o.dir, "archivefs-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a scratch directory
	if o.engines > 0 {
		return measureEngines(ctx, o, dir)
	}
	p := page{options: o}
	if p.raw, err = measureNginx(ctx, o, dir); err != nil {
		return err
	}
	for _, documents := range o.sizes {
		progress("filling up to %d documents", documents)
		began := time.Now()
		if err := fill(ctx, filepath.Join(dir, "data"), documents); err != nil {
			return err
		}
		p.filled = append(p.filled, time.Since(began))
		results, err := measureService(ctx, o, dir, documents)
		if err != nil {
			return err
		}
		p.results = append(p.results, results...)
	}
	var out io.Writer = os.Stdout
	if o.out != "" {
		file, err := os.Create(o.out)
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // write tells
		out = file
	}
	return p.write(ctx, out)
}

// progress says on standard error what is done now.
func progress(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stderr, "load: "+format+"\n", args...)
}
