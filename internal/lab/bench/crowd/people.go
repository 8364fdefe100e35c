//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/pkg/xattr"
	"golang.org/x/sys/unix"
)

// User ids: of the one who is busy, and of the first of the others.
const (
	somebody    = 61000
	firstPerson = 61001
)

// crowd are the people at a mount.
type crowd struct {
	o      options
	mnt    string
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu                      sync.Mutex
	lists, writes, arrivals waits // guarded by mu
	failed                  error // guarded by mu
}

// waits are how long something took, in no order.
type waits []time.Duration

// String has the median, the 99th percentile and the longest.
func (w waits) String() string {
	if len(w) == 0 {
		return "| | "
	}
	slices.Sort(w)
	at := func(share float64) float64 {
		return float64(w[min(len(w)-1, int(share*float64(len(w))))].Microseconds()) / 1000
	}
	return fmt.Sprintf("%.0f ms | %.0f ms | %.0f ms", at(0.5), at(0.99), at(1))
}

func newCrowd(o options, mnt string) *crowd {
	c := &crowd{o: o, mnt: mnt}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	for i := range o.people {
		c.wg.Go(func() { c.as(i, c.lister(i), o.every) })
		c.wg.Go(func() { c.as(i, c.writer(i), 5*o.every) })
	}
	return c
}

// as does something every now and then with the user id of person i.
func (c *crowd) as(i int, do func(n int) error, every time.Duration) {
	runtime.LockOSThread() // and never unlocked: the thread ends with its user id
	if err := unix.Setfsuid(firstPerson + i); err != nil {
		c.fail(err)
		return
	}
	first := time.NewTimer(rand.N(every)) //nolint:gosec // people do not act in step
	select {
	case <-first.C:
	case <-c.ctx.Done():
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		if err := do(n); err != nil {
			c.fail(fmt.Errorf("%s: %w", person(i), err))
			return
		}
		select {
		case <-tick.C:
		case <-c.ctx.Done():
			return
		}
	}
}

// lister lists a folder that was not listed before.
func (c *crowd) lister(i int) func(n int) error {
	return func(n int) error {
		began := time.Now()
		entries, err := os.ReadDir(filepath.Join(c.mnt, "people", person(i), fmt.Sprintf("%03d", n%own)))
		if err == nil && len(entries) != 1 {
			err = fmt.Errorf("%d entries", len(entries))
		}
		c.note(&c.lists, began)
		return err
	}
}

// writer writes a small file, and waits in the background until it is archived.
func (c *crowd) writer(i int) func(n int) error {
	return func(n int) error {
		path := filepath.Join(c.mnt, "in", person(i), fmt.Sprintf("letter %03d.txt", n))
		began := time.Now()
		if err := os.WriteFile(path, []byte(path+"\n"), 0o600); err != nil {
			return err
		}
		c.note(&c.writes, began)
		if c.o.writes == "async" {
			c.wg.Go(func() { c.awaitArrival(path, began) })
		}
		return nil
	}
}

// awaitArrival waits until a file is a document.
func (c *crowd) awaitArrival(path string, began time.Time) {
	for c.ctx.Err() == nil {
		if _, err := xattr.Get(path, "user.archive.id"); err == nil {
			c.note(&c.arrivals, began)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// awaitArrivals waits until nothing waits to be archived.
func (c *crowd) awaitArrivals(ctx context.Context) error {
	for few := 0; few < 2; {
		text, err := os.ReadFile(filepath.Join(c.mnt, ".archivefs", "status.json"))
		if err != nil {
			return err
		}
		var status struct {
			Uploads struct{ List []struct{ State string } }
		}
		if err := json.Unmarshal(text, &status); err != nil {
			return err
		}
		if few++; len(status.Uploads.List) > c.o.people { // people go on writing
			few = 0
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) note(what *waits, began time.Time) {
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	*what = append(*what, took)
}

func (c *crowd) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = errors.Join(c.failed, err)
}

func (c *crowd) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// begin begins a stage, end ends it and returns how long people waited in it.
func (c *crowd) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists, c.writes, c.arrivals = nil, nil, nil
}

func (c *crowd) end() (lists, writes, arrivals waits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lists), slices.Clone(c.writes), slices.Clone(c.arrivals)
}

func (c *crowd) stop() {
	c.cancel()
	c.wg.Wait()
}
