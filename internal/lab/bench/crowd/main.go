//go:build linux

// Command crowd measures how long people wait for one another at one mount, as on an office server that
// exports it by Samba: forty-nine people list a folder and write a file now and then, first by
// themselves, then while somebody else walks a tree, reads documents and copies files in.
// scripts/bench --crowd starts it. It needs root, because each person has a user id of their own.
//
// The service refuses recursive lists, so that each folder costs a request, as in an archive that is too
// large for them: else people would wait for nothing, because their folders were prefetched.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/delay"
	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/program"
)

// options say what is measured.
type options struct {
	program string // archivefs
	dir     string // scratch
	people  int
	every   time.Duration // a person lists a folder, and writes a file every fifth time
	delay   time.Duration // of each request
	alone   time.Duration // how long people are by themselves
	writes  string        // --writes of the mount
	busy    int           // processes of the busy person
	scale   int           // of what the busy person does, in percent
	metrics string        // --metrics of the mount
}

func main() {
	program.Run("crowd", func(args []string) (func(context.Context) error, error) {
		o, err := readOptions(args)
		return func(ctx context.Context) error { return run(ctx, o) }, err
	})
}

func readOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("scripts/bench --crowd", flag.ContinueOnError)
	flags.StringVar(&o.program, "archivefs", "", "`program` to measure")
	flags.StringVar(&o.dir, "dir", os.TempDir(), "`directory` for scratch files, which go at the end")
	flags.IntVar(&o.people, "people", 49, "`number` of people who list and write")
	flags.DurationVar(&o.every, "every", time.Second, "`duration` after which each lists another folder; a file is written after five times that")
	flags.DurationVar(&o.delay, "delay", 50*time.Millisecond, "`duration` by which each request is delayed")
	flags.DurationVar(&o.alone, "alone", 20*time.Second, "`duration` for which they are by themselves")
	flags.StringVar(&o.writes, "writes", "sync", "`mode` of the mount's writes: sync or async")
	flags.IntVar(&o.busy, "processes", 16, "`number` of processes of the busy person")
	flags.IntVar(&o.scale, "scale", 100, "`percent` of 5,000 folders, 2,000 documents and 2,000 files that the busy person goes through")
	flags.StringVar(&o.metrics, "metrics", "", "`address` of the mount's metrics")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 || o.program == "" {
		return o, errors.New("give --archivefs and no operands")
	}
	if os.Geteuid() != 0 {
		return o, errors.New("it needs root")
	}
	return o, nil
}

// run makes an archive, mounts it over a slow line, and measures each stage.
func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp(o.dir, "archivefs-crowd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)                      //nolint:errcheck // a scratch directory
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // people come through it
		return err
	}
	o.dir = dir
	if err := plant(o); err != nil {
		return err
	}
	service, address, err := serve(ctx, o)
	if err != nil {
		return err
	}
	defer service.Stop()
	line, err := delay.Start(ctx, delay.Flat, address, o.delay)
	if err != nil {
		return err
	}
	defer line.Close()
	mnt, mount, err := mountAt(ctx, o, line.Address())
	if mount != nil {
		defer func() {
			err = errors.Join(err, machine.Unmount(context.WithoutCancel(ctx), mnt))
			mount.Stop()
		}()
	}
	if err != nil {
		return err
	}
	return measure(ctx, o, mnt)
}

// stage is what somebody does while people list and write.
type stage struct{ name, command string }

func stages() []stage {
	return []stage{
		{"nobody else", `sleep "$ALONE"`},
		{"a walk", `ls -d "$MNT"/walked/*/ | xargs -P "$BUSY" -I@ find @ -type f > /dev/null`},
		{"reading documents", `find "$MNT/read" -type f -print0 | xargs -0 -n 10 -P "$BUSY" cat > /dev/null`},
		{"copying files in", `ls -d "$OWN"/*/ | xargs -n 1 -P "$BUSY" cp -r -t "$MNT/in/somebody"`},
	}
}

// measure prints a row for each stage.
func measure(ctx context.Context, o options, mnt string) error {
	c := newCrowd(o, mnt)
	defer c.stop()
	fmt.Printf("%d people every %v, %v for each request, %d processes, --writes %s\n\n", o.people, o.every, o.delay, o.busy, o.writes)
	fmt.Println("| Beside | Took | `ls`: p50 | p99 | max | n | write: p50 | p99 | max | n | archived: p50 | p99 | max |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	env := []string{"MNT=" + mnt, "OWN=" + filepath.Join(o.dir, "own"), fmt.Sprintf("ALONE=%g", o.alone.Seconds()), fmt.Sprintf("BUSY=%d", o.busy)}
	if err := sleep(ctx, max(5*time.Second, 2*o.every)); err != nil { // until everybody has been there
		return err
	}
	for i, s := range stages() {
		c.begin()
		r, err := machine.Run(ctx, fmt.Sprintf("setpriv --reuid %d --regid %d --clear-groups bash -c '%s'", somebody, somebody, s.command), env, 30*time.Minute)
		if err != nil {
			return err
		}
		if i > 0 && o.writes == "async" { // the stage ends when all has arrived
			if err := c.awaitArrivals(ctx); err != nil {
				return err
			}
		}
		lists, writes, arrivals := c.end()
		fmt.Printf("| %s | %.1f s | %s | %d | %s | %d | %s |\n", s.name, r.Took.Seconds(), lists, len(lists), writes, len(writes), arrivals)
	}
	return c.failure()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
