//go:build linux

package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/internal/lab/office/host"
)

// Fair is how long people wait for folders that nobody has listed, alone and beside somebody who walks
// the whole share.
type Fair struct {
	Title  string
	Stages []Stage
}

// Stage is a time in which somebody walks with so many connections.
type Stage struct {
	Walkers int
	Walked  int // folders
	Waits   Waits
}

// slow is by how much each request is delayed.
const slow = 200 * time.Millisecond

// every is how often a person lists a folder, begin until when all have begun, and stage how long a stage
// takes.
const (
	every = 4 * time.Second
	begin = 10 * time.Second
	stage = 40 * time.Second
)

// crowd are people who list folders, and one who walks.
type crowd struct {
	host   *host.Host
	people int
	diary  *diary
	next   atomic.Int64 // the next folder that is walked

	mu     sync.Mutex
	failed error // guarded by mu
}

// beside measures at a mount of its own. Listings are trusted for an hour, so that people wait for the one
// new folder alone.
func beside(ctx context.Context, a *host.Archive, p Plan, title string, own bool, log func(format string, args ...any)) (f Fair, err error) {
	name, mount := "forced", "--ttl 1h"
	if own {
		name, mount = "own", mount+" --umask 000"
	}
	h, err := host.Export(ctx, a, host.Options{Name: name, Mount: mount, Slow: slow, People: p.Clients, Own: own})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	c := &crowd{host: h, people: p.Clients - 1, diary: newDiary()}
	f.Title = title
	var busy sync.WaitGroup
	living, stop := context.WithCancel(ctx)
	defer busy.Wait()
	defer stop()
	for i := range c.people {
		busy.Go(func() { c.fail(c.live(living, i, p.Seed)) })
	}
	select {
	case <-time.After(begin):
	case <-ctx.Done():
	}
	for _, walkers := range []int{0, 1, 32} {
		s, err := c.stage(ctx, walkers)
		if err != nil {
			return f, err
		}
		log("%s: ls beside %d connections that walked through %d folders: %s ms (p50 / p99 / longest)", name, walkers, s.Walked, s.Waits)
		f.Stages = append(f.Stages, s)
	}
	return f, nil
}

// stage measures for some time, or until everything was walked through.
func (c *crowd) stage(ctx context.Context, walkers int) (Stage, error) {
	began, first := time.Since(c.diary.began), c.next.Load()
	walking, stop := context.WithTimeout(ctx, stage)
	defer stop()
	var busy sync.WaitGroup
	for range walkers {
		busy.Go(func() { c.fail(c.walk(walking)) })
	}
	if walkers == 0 {
		<-walking.Done()
	}
	busy.Wait()
	s := Stage{Walkers: walkers, Walked: int(c.next.Load() - first), Waits: c.diary.between(List, began, time.Since(c.diary.began))}
	c.mu.Lock()
	defer c.mu.Unlock()
	return s, errors.Join(ctx.Err(), c.failed)
}

func (c *crowd) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = errors.Join(c.failed, err)
}

// live lists a folder of a person now and then, each for the first time.
func (c *crowd) live(ctx context.Context, i int, seed uint64) error {
	s, err := connect(ctx, c.host, host.Person(i))
	if err != nil {
		return err
	}
	defer s.close()
	rnd := rand.New(rand.NewPCG(seed, uint64(i))) //nolint:gosec // a plan, not a secret
	first := time.NewTimer(time.Duration(rnd.Float64() * float64(every)))
	for n := range ownEach {
		select {
		case <-ctx.Done():
			return nil
		case <-first.C:
			first.Reset(every)
		}
		began := time.Now()
		names, err := s.list(fmt.Sprintf("%s/%s/%02d", own, host.Person(i), n))
		if ctx.Err() != nil {
			return nil
		}
		if err == nil && len(names) != 1 {
			err = fmt.Errorf("%d names", len(names))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", host.Person(i), err)
		}
		c.diary.note(List, began, nil)
	}
	return nil
}

// walk lists folders that nobody has listed, one after the other.
func (c *crowd) walk(ctx context.Context) error {
	s, err := connect(context.WithoutCancel(ctx), c.host, host.Person(c.people))
	if err != nil {
		return err
	}
	defer s.close()
	for ctx.Err() == nil {
		n := int(c.next.Add(1)) - 1
		if n >= walkedAll {
			return nil
		}
		if _, err := s.list(walkedFolder(n)); err != nil {
			return fmt.Errorf("walk: %w", err)
		}
	}
	return nil
}
