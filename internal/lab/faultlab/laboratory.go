//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/lab/faultlab/lab"
)

// laboratory carries out a command.
type laboratory struct {
	settings
	dir  string // of everything that it makes
	out  io.Writer
	errs io.Writer
}

// bench builds archivefs and returns a bench that tests it. args are further arguments of
// go build.
func (l *laboratory) bench(ctx context.Context, name string, args ...string) (*lab.Bench, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &lab.Bench{
		Program: filepath.Join(l.dir, name), Helper: []string{self, wordHelp}, Dir: l.dir, Keep: l.keep,
	}
	args = append([]string{"build", "-tags", "faultlab", "-o", b.Program}, args...)
	args = append(args, "github.com/archivefs/archivefs/cmd/archivefs")
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil { //nolint:gosec // arguments made here
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return b, nil
}

// runAll runs the histories of the seed and prints what came of them; ok says that no
// promise was broken.
func (l *laboratory) runAll(ctx context.Context) (ok bool, err error) {
	b, err := l.bench(ctx, "archivefs")
	if err != nil {
		return false, err
	}
	options := history.Options{Writes: history.Modes()}
	first, end := uint64(0), l.runs
	if l.only >= 0 {
		first, end = uint64(l.only), uint64(l.only)+1
	}
	var histories []*history.History
	digests := sha256.New()
	for n := first; n < end; n++ {
		h := history.New(l.seed, n, options)
		histories = append(histories, h)
		fmt.Fprintln(digests, h.Digest()) //nolint:errcheck // a hash takes everything
	}
	if l.only >= 0 && l.verbose {
		text, err := json.MarshalIndent(histories[0], "", "  ")
		if err != nil {
			return false, err
		}
		fmt.Fprintf(l.out, "%s\n", text) //nolint:errcheck // nowhere to say it
	}
	t := newTally()
	l.each(ctx, b, histories, func(r *lab.Result) bool {
		t.add(r)
		l.report(r)
		return true
	})
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("interrupted after %d runs: %w", t.runs, err)
	}
	t.print(l.out, fmt.Sprintf("seed %d, %d runs, digest %x", l.seed, t.runs, digests.Sum(nil)[:8]))
	return t.clean(), nil
}

// each runs histories, some at once, until see answers false. see is called by one at a
// time.
func (l *laboratory) each(ctx context.Context, b *lab.Bench, histories []*history.History, see func(*lab.Result) bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	queue := make(chan *history.History)
	var workers sync.WaitGroup
	var mu sync.Mutex
	for range l.parallel {
		workers.Go(func() {
			for h := range queue {
				result := b.Run(ctx, h)
				mu.Lock()
				if ctx.Err() == nil && !see(result) {
					stop()
				}
				mu.Unlock()
			}
		})
	}
	for _, h := range histories {
		select {
		case queue <- h:
		case <-ctx.Done():
		}
	}
	close(queue)
	workers.Wait()
}

// report prints what a run has to say.
func (l *laboratory) report(r *lab.Result) {
	h := r.History
	name := fmt.Sprintf("seed %d run %d (%s, %s, %s)", h.Seed, h.Run, h.Digest(), h.Writes, h.Service)
	if l.verbose {
		fmt.Fprintf(l.out, "%s: %d violations\n", name, len(r.Violations)) //nolint:errcheck // nowhere to say it
	}
	for _, v := range r.Violations {
		fmt.Fprintf(l.errs, "%s: %s: %s\n", name, v.Kind, v.Text) //nolint:errcheck // nowhere to say it
	}
	if r.Err != nil {
		fmt.Fprintf(l.errs, "%s: cannot be judged: %v\n", name, r.Err) //nolint:errcheck // nowhere to say it
	}
}
