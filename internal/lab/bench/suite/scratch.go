//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/lab/bench/corpus"
	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// markName is a file by which a scratch directory is known: in no other one is anything
// removed. It is locked, so that two runs never share one.
const markName = "archivefs-bench"

// prepare makes the scratch directory and what lies in it.
func (b *Bench) prepare(ctx context.Context) error {
	if err := machine.Adopt(); err != nil {
		return err
	}
	if err := b.claim(); err != nil {
		return err
	}
	if err := b.sweep(ctx); err != nil {
		return err
	}
	var err error
	if b.results, err = result.Read(b.Results); err != nil {
		return err
	}
	b.say("making the corpus %s in %s", b.Shape.Name, b.dir)
	b.corpus, err = corpus.Make(filepath.Join(b.dir, "corpus"), b.Shape, b.Seed)
	return errors.Join(err, ctx.Err())
}

// claim takes the scratch directory, if it is a new one, an empty one, or one of an earlier run.
func (b *Bench) claim() error {
	if err := os.MkdirAll(b.Dir, 0o755); err != nil { //nolint:gosec // davfs2 works as a user of its own
		return err
	}
	dir, err := filepath.EvalSymlinks(b.Dir)
	if err != nil {
		return err
	}
	if b.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	path := filepath.Join(b.dir, markName)
	if _, err := os.Stat(path); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s holds other things than benchmarks; choose an empty directory with --dir", b.dir)
	}
	if b.scratch, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil { //nolint:gosec // the operator names it
		return err
	}
	if err := unix.Flock(int(b.scratch.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("%s is in use by another run: %w", b.dir, err), b.scratch.Close())
	}
	return nil
}

// sweep removes what an earlier run left but the corpus, and what it left mounted.
func (b *Bench) sweep(ctx context.Context) error {
	for _, name := range Systems() {
		if err := machine.Unmount(ctx, filepath.Join(b.dir, "mnt", name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"log", "servers", "mnt", "state", groupGrowth} {
		path := filepath.Join(b.dir, name)
		if name != "mnt" { // nothing is removed through a mount
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
		if err := os.MkdirAll(path, 0o755); err != nil { //nolint:gosec // davfs2 works as a user of its own
			return err
		}
	}
	return nil
}
