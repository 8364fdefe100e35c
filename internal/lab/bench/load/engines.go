//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// clients is how many people upload at the same time.
const clients = 4

// lookedAt is how many uploads there are for each document whose PDF somebody asks for meanwhile.
const lookedAt = 25

// engines are the programs with which the service reads documents.
var engines = []string{"catdoc", "catppt", "pdfinfo", "pdftoppm", "pdftotext", "soffice", "tesseract", "tiff2pdf", "xls2csv"}

// round is what was measured while clients uploaded, and a while after that.
type round struct {
	with      bool // the programs were there
	latencies []time.Duration
	service   machine.Usage
	most      int     // processes of programs at once
	memory    float64 // of these, MiB at most
}

// measureEngines measures uploads with and without the programs, in turns, so that what changes on the machine
// meanwhile changes both. Each round has an archive of its own, and the same documents come at the same times.
func measureEngines(ctx context.Context, o options, dir string) error {
	for _, name := range engines {
		if _, err := machine.Run(ctx, `command -v "$NAME"`, []string{"NAME=" + name}, time.Minute); err != nil {
			return fmt.Errorf("%s is not installed", name)
		}
	}
	m, err := readModels(ctx, "internal/sample/sample.zip", dir)
	if err != nil {
		return err
	}
	bare := filepath.Join(dir, "path")
	if err := withoutEngines(bare, os.Getenv("PATH")); err != nil {
		return err
	}
	var rounds []round
	for n := range 2 * o.engines {
		with := n%4 == 0 || n%4 == 3 // with, without, without, with
		path := map[bool]string{true: os.Getenv("PATH"), false: bare}[with]
		progress("round %d of %d, with the programs: %t", n+1, 2*o.engines, with)
		r, err := o.round(ctx, m, filepath.Join(dir, fmt.Sprint("round-", n)), path, uint64(n/2)) //nolint:gosec // not negative
		if err != nil {
			return err
		}
		r.with = with
		rounds = append(rounds, r)
	}
	return writeRounds(os.Stdout, o, rounds)
}

// withoutEngines makes a directory of links to all programs of a path but these.
func withoutEngines(dir, path string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for _, from := range filepath.SplitList(path) {
		entries, _ := os.ReadDir(from) // it need not exist
		for _, e := range entries {
			if slices.Contains(engines, e.Name()) {
				continue
			}
			if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
		}
	}
	return nil
}

// round measures one round, with programs from a path.
func (o options) round(ctx context.Context, m models, dir, path string, seed uint64) (r round, err error) {
	defer os.RemoveAll(dir) //nolint:errcheck // in the scratch directory
	if err := fill(ctx, filepath.Join(dir, "data"), folderSize); err != nil {
		return r, err
	}
	s, process, err := start(ctx, o, dir, dir+".log", "PATH="+path)
	if err != nil {
		return r, err
	}
	defer process.Stop()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var watched sync.WaitGroup
	watched.Go(func() { r.watch(watching, process.PID()) })
	latencies, err := s.office(ctx, m, o, seed)
	if err != nil {
		return r, err
	}
	select {
	case <-ctx.Done():
		return r, ctx.Err()
	case <-time.After(o.after):
	}
	stop()
	watched.Wait()
	r.latencies, r.service = latencies, machine.UsageOf([]int{process.PID()})
	return r, nil
}

// watch looks ten times a second at what the service has started.
func (r *round) watch(ctx context.Context, service int) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		below := slices.DeleteFunc(machine.Family(), func(pid int) bool { return pid == service })
		r.most = max(r.most, len(below))
		r.memory = max(r.memory, machine.UsageOf(below).Resident)
	}
}

// office lets clients upload, each when its time has come: at random, as people do, and not in step. Somebody
// else looks at some documents. It returns how long each upload took.
func (s *service) office(ctx context.Context, m models, o options, seed uint64) (latencies []time.Duration, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	var uploading, looking sync.WaitGroup
	latest := make(chan string, o.uploads)
	transport := &http.Transport{MaxIdleConnsPerHost: clients + 1}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	looking.Go(func() {
		for id := range latest {
			r, err := s.request(ctx, http.MethodGet, "/document/"+id+"/pdf", nil)
			if err == nil {
				_, err = answer(client, r)
			}
			if err != nil {
				stop(err)
			}
		}
	})
	for c := range clients {
		uploading.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(c))) //nolint:gosec // not a secret
			due := time.Now()
			for n := c; n < o.uploads; n += clients {
				due = due.Add(time.Duration(random.ExpFloat64() * clients / o.pace * float64(time.Second)))
				name, content := m.pick(random, n)
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Until(due)):
				}
				id, took, err := s.send(ctx, client, name, content)
				if err != nil {
					stop(err)
					return
				}
				mu.Lock()
				latencies = append(latencies, took)
				mu.Unlock()
				if n%lookedAt == 0 {
					latest <- id
				}
			}
		})
	}
	uploading.Wait()
	close(latest)
	looking.Wait()
	return latencies, context.Cause(ctx)
}

// send uploads a document, and returns its id and how long that took.
func (s *service) send(ctx context.Context, client *http.Client, name string, content []byte) (id string, took time.Duration, err error) {
	r, err := s.form(ctx, name, content)
	if err != nil {
		return "", 0, err
	}
	began := time.Now()
	id, err = answer(client, r)
	return strings.TrimSpace(id), time.Since(began), err
}

// answer is what a request is answered with.
func answer(client *http.Client, r *http.Request) (string, error) {
	got, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer got.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s", r.Method, r.URL.Path, got.Status)
	}
	return string(text), err
}

// writeRounds writes a line for each round, and one for all rounds with and all without the programs.
func writeRounds(out io.Writer, o options, rounds []round) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d uploads of mixed documents in each round, by %d clients at %g a second, and %s to read on.\n\n", o.uploads, clients, o.pace, o.after)
	b.WriteString("| Round | Programs | p50 | p95 | p99 | longest | service, peak | processor | processes at once | their memory | processor |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n")
	all := map[bool]*round{true: {with: true}, false: {}}
	for n, r := range rounds {
		sum := all[r.with]
		sum.latencies = append(sum.latencies, r.latencies...)
		sum.service.Peak, sum.most, sum.memory = max(sum.service.Peak, r.service.Peak), max(sum.most, r.most), max(sum.memory, r.memory)
		sum.service.CPU += r.service.CPU
		sum.service.Children += r.service.Children
		b.WriteString(r.row(fmt.Sprint(n + 1)))
	}
	b.WriteString(all[true].row("all") + all[false].row("all"))
	with, without := all[true].quantile(0.99), all[false].quantile(0.99)
	fmt.Fprintf(&b, "\np99 with the programs is %.3f of that without them.\n", with.Seconds()/without.Seconds())
	_, err := io.WriteString(out, b.String())
	return err
}

func (r *round) quantile(share float64) time.Duration {
	return result{latencies: slices.Sorted(slices.Values(r.latencies))}.quantile(share)
}

func (r *round) row(name string) string {
	programs := map[bool]string{true: "yes", false: "no"}[r.with]
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %.0f MiB | %.1f s | %d | %.0f MiB | %.1f s |\n", name, programs,
		milliseconds(r.quantile(0.5)), milliseconds(r.quantile(0.95)), milliseconds(r.quantile(0.99)), milliseconds(r.quantile(1)),
		r.service.Peak, r.service.CPU, r.most, r.memory, r.service.Children)
}
