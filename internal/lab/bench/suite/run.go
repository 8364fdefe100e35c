//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/delay"
	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// What a command may take.
const (
	commandLimit = 90 * time.Second
	slowLimit    = 120 * time.Second // over a slow network
	digestLimit  = 90 * time.Second
	// What takes longer is too slow to be read once more for its bytes.
	worthReadingAgain = 10 * time.Second
)

// run is one group of workloads on one system.
type run struct {
	b    *Bench
	sys  *system
	g    group
	over bool // it is too slow for another repeat, or failed
}

// measure runs all chosen workloads. The systems take turns.
func (b *Bench) measure(ctx context.Context, chosen []system) error {
	for _, g := range groups() {
		if !slices.Contains(b.Workloads, g.name) {
			continue
		}
		b.say("== %s", g.name)
		var runs []*run
		for i := range chosen {
			if sys := &chosen[i]; sys.runs(g) {
				b.results.Forget(sys.name, g.measures()...)
				runs = append(runs, &run{b: b, sys: sys, g: g})
			}
		}
		for repeat := range b.Repeats {
			for _, r := range runs {
				if err := ctx.Err(); err != nil {
					return err
				}
				if !r.over {
					r.once(ctx, repeat)
				}
			}
		}
	}
	return nil
}

// failure is what went wrong, and where.
type failure struct {
	workload string
	error
}

// once runs the group in a mount of its own.
func (r *run) once(ctx context.Context, repeat int) {
	began := time.Now()
	err := r.mounted(ctx, repeat)
	r.over = err != nil || time.Since(began) > r.b.Slow
	if err == nil || ctx.Err() != nil {
		return
	}
	at := failure{r.g.steps[0].id, err}
	_ = errors.As(err, &at) // else it is no matter of one workload
	if errors.Is(err, machine.ErrTimeout) && r.sys.server != ownService && r.sys.server != foreignService {
		r.b.giveUp(r.sys.name, at.workload, at.error)
		return
	}
	r.b.fail(r.sys.name, at.workload, at.error)
}

// mounted mounts, runs the steps, and unmounts.
func (r *run) mounted(ctx context.Context, repeat int) (err error) {
	if r.sys.mount == "" && !r.g.copy {
		if err := machine.DropCaches(ctx); err != nil {
			return err
		}
	}
	srv, address, proxy, err := r.reach(ctx)
	if err != nil {
		return err
	}
	if proxy != nil {
		defer proxy.Close()
	}
	s, took, err := r.b.mount(ctx, r.sys, srv, address)
	defer func() { err = errors.Join(err, s.end(ctx)) }()
	if err != nil {
		return err
	}
	if r.g.name == "list" {
		r.b.record(r.sys.name, mountAndList, took.Seconds(), nil)
	}
	quick := true
	for i, w := range r.g.steps {
		if r.g.copy {
			err = s.copyIn(ctx, w.id)
		} else {
			took, err = r.step(ctx, s, i, proxy)
			quick = quick && took < worthReadingAgain
		}
		if err = errors.Join(err, s.alive()); err != nil {
			return failure{w.id, err}
		}
	}
	if repeat == 0 && quick && r.g.same != "" {
		return r.compare(ctx, s)
	}
	return nil
}

// reach starts the system's server, and for a slow network a proxy before it.
func (r *run) reach(ctx context.Context) (srv *server, address string, proxy *delay.Proxy, err error) {
	if r.sys.server == "" {
		return nil, "", nil, nil
	}
	if srv, err = r.b.serve(ctx, r.sys.server); err != nil {
		return nil, "", nil, err
	}
	if !r.g.slow {
		return srv, srv.address, nil, nil
	}
	if proxy, err = delay.Start(ctx, r.sys.mode, srv.address, r.b.Delay); err != nil {
		return nil, "", nil, err
	}
	return srv, proxy.Address(), proxy, nil
}

// step runs one command and keeps what it took.
func (r *run) step(ctx context.Context, s *session, i int, proxy *delay.Proxy) (time.Duration, error) {
	w, limit := r.g.steps[i], commandLimit
	if r.g.slow {
		limit = slowLimit
	}
	before, err := r.count(ctx, s, proxy, true)
	if err != nil {
		return 0, err
	}
	cpu := machine.UsageOf(s.family()).CPU
	result, err := machine.Run(ctx, w.command, s.env, limit)
	if errors.Is(err, machine.ErrTimeout) {
		return 0, fmt.Errorf("%w: over %s", machine.ErrTimeout, limit)
	}
	if err != nil {
		return 0, err
	}
	if wrong := w.wrong(s.b.corpus, result.Output); wrong != "" {
		return 0, errors.New(wrong)
	}
	after, err := r.count(ctx, s, proxy, false)
	if err != nil {
		return 0, err
	}
	r.b.record(r.sys.name, w.id, result.Took.Seconds(), since(before, after))
	if r.g.ends && i == 0 && s.process != nil {
		usage := machine.UsageOf(s.family())
		r.b.record(r.sys.name, memory, usage.Resident, nil)
		r.b.record(r.sys.name, processor, usage.CPU-cpu, nil)
	}
	return result.Took, nil
}

// count tells the requests so far: those at the proxy, where there is one, since the reset.
func (r *run) count(ctx context.Context, s *session, proxy *delay.Proxy, reset bool) (map[string]int, error) {
	if proxy == nil {
		return s.requests(ctx)
	}
	if reset {
		proxy.Reset()
	}
	return proxy.Counts(), nil
}

// compare reads once more, and wants the bytes of the tree.
func (r *run) compare(ctx context.Context, s *session) error {
	if s.process == nil {
		return nil // it is the tree
	}
	id := r.g.steps[0].id
	want, known := r.b.digests[r.g.same]
	if !known {
		tree, err := machine.Run(ctx, r.g.same, r.b.env(r.b.places(r.b.corpus.Tree(), "")...), digestLimit)
		if err != nil {
			return failure{id, err}
		}
		want = tree.Output
		r.b.digests[r.g.same] = want
	}
	got, err := machine.Run(ctx, r.g.same, s.env, digestLimit)
	if err == nil && got.Output != want {
		err = errors.New("read other bytes than there are")
		r.b.results.Forget(r.sys.name, r.g.measures()...)
	}
	if err != nil {
		return failure{id, err}
	}
	return nil
}
