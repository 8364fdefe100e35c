//go:build linux

package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/archivefs/archivefs/internal/lab/direct"
	"github.com/archivefs/archivefs/internal/lab/office/host"
)

// Plan is what is done.
type Plan struct {
	Seed    uint64
	Clients int
	For     time.Duration
}

// Result is what came of it.
type Result struct {
	Plan    Plan
	Began   time.Time
	Took    time.Duration
	Samples []Sample
	Verdict *Verdict
	Failed  []string // what did not succeed
	Fair    []Fair

	diary *diary
}

// Run carries out a plan at an archive with the documents of Documents.
func Run(ctx context.Context, a *host.Archive, p Plan, log func(format string, args ...any)) (r *Result, err error) {
	r = &Result{Plan: p, Began: time.Now()}
	if err := r.work(ctx, a, log); err != nil {
		return nil, err
	}
	for _, o := range []struct {
		title string
		own   bool
	}{{"`force user`: all clients are one user of the machine", false}, {"each client is another user of the machine", true}} {
		f, err := beside(ctx, a, p, o.title, o.own, log)
		if err != nil {
			return nil, err
		}
		r.Fair = append(r.Fair, f)
	}
	return r, nil
}

// work lets people work for the whole time, and judges what came of it.
func (r *Result) work(ctx context.Context, a *host.Archive, log func(format string, args ...any)) (err error) {
	h, err := host.Export(ctx, a, host.Options{Name: "office", Mount: "--grace 10s", People: r.Plan.Clients})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	old := map[int64]bool{}
	err = each(ctx, h, r.Plan.Clients, func(_ string, d direct.Document) error {
		old[d.ID] = true
		return nil
	})
	if err != nil {
		return err
	}
	r.diary = newDiary()
	working, stop := context.WithTimeout(ctx, r.Plan.For)
	defer stop()
	var people []*person
	var busy sync.WaitGroup
	for i := range r.Plan.Clients {
		p := &person{n: i, host: h, rnd: rand.New(rand.NewPCG(r.Plan.Seed, uint64(i))), log: r.diary} //nolint:gosec // a plan, not a secret
		people = append(people, p)
		busy.Go(func() { p.live(working) })
	}
	r.Samples, err = watch(working, h, r.diary.began, max(r.Plan.For/360, time.Second), log)
	stop()
	busy.Wait()
	r.Took = time.Since(r.diary.began)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	r.Failed = r.diary.failed
	var written []*Written
	for _, p := range people {
		written = append(written, p.written...)
	}
	r.Verdict, err = judge(ctx, h, r.Plan.Clients, old, written)
	return err
}

// Window is how long people waited in a part of the time.
type Window struct {
	From, To time.Duration
	Waits    map[Kind]Waits
}

// window is the length of a window.
const window = 5 * time.Minute

// Windows are the parts of the time, and at the end all of it.
func (r *Result) Windows() (all []Window) {
	of := func(from, to time.Duration) Window {
		w := Window{from, to, map[Kind]Waits{}}
		for _, k := range Kinds() {
			w.Waits[k] = r.diary.between(k, from, to)
		}
		return w
	}
	for from := time.Duration(0); from < r.Plan.For; from += window {
		all = append(all, of(from, min(from+window, r.Plan.For)))
	}
	if len(all) > 1 {
		all = append(all, of(0, r.Plan.For))
	}
	return all
}

// Err says what did not end as expected.
func (r *Result) Err() error {
	err := r.Verdict.err()
	for _, what := range r.Failed {
		err = errors.Join(err, errors.New(what))
	}
	for _, m := range r.Measures() {
		if !m.Right() {
			err = errors.Join(err, fmt.Errorf("%s of the mount: %.1f in the second third, and %.1f in the last", m.Name, m.Trend.Second, m.Trend.Last))
		}
	}
	return err
}

// Print prints how long people waited, and what the mount took.
func (r *Result) Print(log func(format string, args ...any)) {
	for _, w := range r.Windows() {
		var line strings.Builder
		for _, k := range Kinds() {
			_, _ = fmt.Fprintf(&line, "; %s %s (%d)", k, w.Waits[k], len(w.Waits[k])) // a Builder takes everything
		}
		log("%s min%s", minutes(r.Plan.For)(w), &line)
	}
	for _, m := range r.Measures() {
		log("%s: %.1f in the second third, %.1f in the last, %+.1f in an hour: %s", m.Name, m.Trend.Second, m.Trend.Last, m.Trend.Hourly, m)
	}
	v := r.Verdict
	log("%d files told written, %d archived; %d lost, %d doubled, %d other; %d attempts failed", v.Told, v.Documents, len(v.Lost), len(v.Doubled), len(v.Other), len(r.Failed))
}
