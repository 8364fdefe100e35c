//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/corpus"
	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/bench/result"
	"github.com/archivefs/archivefs/internal/lab/fill"
)

// Options say what is measured.
type Options struct {
	Dir       string // scratch: corpus, servers, mounts; it is kept, so that a second run begins sooner
	Program   string // the archivefs to be measured
	Results   string // file of results; what is measured replaces what stands there
	Profiles  string // directory for profiles; "" for none
	Systems   []string
	Workloads []string
	Repeats   int
	Slow      time.Duration // a group that takes longer is not repeated
	Delay     time.Duration // of the slow network
	Shape     corpus.Shape
	Seed      uint64
	Log       io.Writer // progress
}

// Bench is one run.
type Bench struct {
	Options

	dir      string   // Options.Dir, without symbolic links
	scratch  *os.File // its mark, locked
	corpus   *corpus.Corpus
	results  result.Set
	servers  map[string]*server
	digests  map[string]string // what the commands of group.same print of the tree itself
	stamps   uint64
	failures []error
}

// Run measures what the options say. Its error has all that failed.
func Run(ctx context.Context, o Options) (err error) {
	b := &Bench{Options: o, servers: map[string]*server{}, digests: map[string]string{}, stamps: uint64(time.Now().Unix()) << 8} //nolint:gosec // a time after 1970
	if err := b.prepare(ctx); err != nil {
		return err
	}
	defer b.scratch.Close() //nolint:errcheck // it was only locked
	defer b.stopServers()
	chosen, err := b.choose()
	if err != nil {
		return err
	}
	if err := b.about(ctx); err != nil {
		return err
	}
	if chosen[0].name == native { // it drops the page cache, which all others find warm; only its copying in takes turns with theirs
		alone := chosen[0]
		alone.arrived = nil
		if err := b.measure(ctx, []system{alone}); err != nil {
			return err
		}
		chosen[0].only = []string{groupCopy}
	}
	if err := b.measureMounts(ctx, chosen); err != nil {
		return errors.Join(append(b.failures, err)...)
	}
	return errors.Join(b.failures...)
}

// measureMounts measures all that needs no empty page cache.
func (b *Bench) measureMounts(ctx context.Context, chosen []system) error {
	if err := b.fillFor(ctx, chosen); err != nil {
		return err
	}
	for i := range chosen {
		if err := b.fill(ctx, &chosen[i]); err != nil {
			return fmt.Errorf("fill %s: %w", chosen[i].name, err)
		}
	}
	if err := b.warm(ctx); err != nil {
		return err
	}
	if err := b.measure(ctx, chosen); err != nil {
		return err
	}
	if !slices.ContainsFunc(chosen, func(s system) bool { return s.name == own }) {
		return nil
	}
	for _, special := range []struct {
		what   string
		wanted bool
		run    func(context.Context) error
	}{
		{"measure growing archives", slices.Contains(b.Workloads, groupGrowth), b.measureGrowth},
		{"measure the servers", slices.Contains(b.Workloads, groupService), b.measureService},
		{"take profiles", b.Profiles != "", b.profile},
	} {
		if !special.wanted {
			continue
		}
		if err := special.run(ctx); err != nil { // the others can still be measured
			b.failures = append(b.failures, fmt.Errorf("%s: %w", special.what, err))
		}
	}
	return ctx.Err()
}

// fillFor fills the archive if a system is measured that is served from it.
func (b *Bench) fillFor(ctx context.Context, chosen []system) error {
	if err := os.RemoveAll(b.ownData()); err != nil {
		return err
	}
	if !slices.ContainsFunc(chosen, func(s system) bool { return s.server == ownService || s.server == foreignService }) {
		return nil
	}
	b.say("filling the archive with the corpus")
	return fill.Tree(ctx, b.ownData(), b.corpus.Tree(), false)
}

// fill makes the volume of a system that has no server, and copies the tree into it.
func (b *Bench) fill(ctx context.Context, sys *system) (err error) {
	if sys.volume == "" {
		return nil
	}
	b.say("filling %s", sys.name)
	if _, err := machine.Run(ctx, sys.volume, b.env(), time.Minute); err != nil {
		return err
	}
	s, _, err := b.mount(ctx, sys, nil, "")
	defer func() { err = errors.Join(err, s.end(ctx)) }()
	if err == nil {
		_, err = machine.Run(ctx, `cp -r "$TREE/." "$MNT"`, s.env, treeLimit)
	}
	return err
}

// warm reads all that is served once, so that no server waits for a disk.
func (b *Bench) warm(ctx context.Context) error {
	const read = `find "$TREE" "$DATA" -ls > /dev/null; find "$TREE/S" "$DATA" -type f -print0 | xargs -0 cat > /dev/null`
	data := b.ownData()
	if _, err := os.Stat(data); err != nil {
		data = b.corpus.Tree()
	}
	_, err := machine.Run(ctx, read, b.env("DATA="+data), 10*time.Minute)
	return err
}
