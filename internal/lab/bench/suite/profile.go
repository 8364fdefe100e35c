//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// How often what is profiled is done: a profile takes a hundred samples a second.
const (
	profiledWalks = 20
	profiledReads = 3
)

// profile takes profiles of the mount, and keeps the ten functions that cost most as text.
func (b *Bench) profile(ctx context.Context) error {
	b.say("== profiles")
	if err := os.MkdirAll(b.Profiles, 0o750); err != nil {
		return err
	}
	warm := fmt.Sprintf(`for i in $(seq %d); do find "$M" -type f > /dev/null; done`, profiledWalks+1)
	walk, heap, err := b.profileOf(ctx, warm)
	if err != nil {
		return err
	}
	var reads []string
	for range profiledReads {
		read, _, err := b.profileOf(ctx, catSmall)
		if err != nil {
			return err
		}
		reads = append(reads, read)
	}
	return errors.Join(
		b.top(ctx, "find-warm.txt", "-top", walk),
		b.top(ctx, "find-heap.txt", "-top -inuse_space", heap),
		b.top(ctx, "cat-cold.txt", "-top", reads...),
	)
}

// profileOf runs a command in a mount that is profiled from its beginning to its end.
func (b *Bench) profileOf(ctx context.Context, command string) (cpu, heap string, err error) {
	srv, err := b.serve(ctx, ownService)
	if err != nil {
		return "", "", err
	}
	sys := systemOf(own)
	b.stamps++
	cpu = filepath.Join(b.dir, "state", fmt.Sprintf("cpu-%d.pprof", b.stamps))
	heap = filepath.Join(b.dir, "state", fmt.Sprintf("heap-%d.pprof", b.stamps))
	s, _, err := b.mount(ctx, sys, srv, srv.address, "CPU_PROFILE="+cpu, "HEAP_PROFILE="+heap)
	if err == nil {
		_, err = machine.Run(ctx, command, s.env, 5*time.Minute)
	}
	return cpu, heap, errors.Join(err, s.end(ctx))
}

// top keeps what costs most in profiles.
func (b *Bench) top(ctx context.Context, name, how string, profiles ...string) error {
	var args strings.Builder
	env := b.env()
	for i, path := range profiles {
		env = append(env, fmt.Sprintf("P%d=%s", i, path))
		fmt.Fprintf(&args, ` "$P%d"`, i)
	}
	r, err := machine.Run(ctx, `go tool pprof -nodecount=10 `+how+` "$ARCHIVEFS"`+args.String(), env, time.Minute)
	if err != nil {
		return err
	}
	b.say("%s", r.Output)
	return os.WriteFile(filepath.Join(b.Profiles, name), []byte(r.Output+"\n"), 0o644) //nolint:gosec // it is published
}
