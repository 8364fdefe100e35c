//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// What copying in may take: cp itself, and until all is at the server.
const (
	copyLimit    = 120 * time.Second
	durableLimit = 180 * time.Second
	askEvery     = 20 * time.Millisecond // as often as the server is asked what it has
)

// bigSuffix ends the name of the big file in the mount.
const bigSuffix = ".bin"

// copyIn copies files into the mount that no server has seen, and measures until cp
// returned, and until the server has all of them in their size.
func (s *session) copyIn(ctx context.Context, id string) (err error) {
	s.b.stamps++
	if err := s.b.corpus.Stamp(s.b.stamps); err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%d", id, s.b.stamps)
	source, files, bytes := s.b.corpus.In(), s.b.corpus.InFiles, s.b.corpus.InBytes
	if id == copyBig {
		name += bigSuffix
		source, files, bytes = s.b.corpus.BigIn(), 1, s.b.corpus.Shape.BigSize
	}
	env := append(s.env, "SOURCE="+source, "NAME="+name)
	if _, err := machine.Run(ctx, `find "$SOURCE" -type f -print0 | xargs -0 cat > /dev/null`, env, commandLimit); err != nil {
		return err
	}
	s.copied = append(s.copied, filepath.Join(s.b.corpus.Tree(), "IN", name))
	before, err := s.requests(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	cp, err := machine.Run(ctx, `cp -r "$SOURCE" "$IN/$NAME"`, env, copyLimit)
	if err != nil {
		return err
	}
	took, err := s.durable(ctx, name, files, bytes, began)
	if err != nil {
		return err
	}
	after, err := s.requests(ctx)
	if err != nil {
		return err
	}
	s.b.record(s.sys.name, id, took.Seconds(), since(before, after))
	s.b.record(s.sys.name, id+returned, cp.Took.Seconds(), nil)
	return nil
}

// durable waits until the server has everything, and returns how long that took.
func (s *session) durable(ctx context.Context, name string, files int, bytes int64, began time.Time) (time.Duration, error) {
	for {
		gotFiles, gotBytes, err := s.sys.arrived(ctx, s, name)
		took := time.Since(began)
		switch {
		case err != nil:
			return 0, err
		case gotFiles == files && gotBytes == bytes:
			return took, nil
		case took > durableLimit:
			return 0, fmt.Errorf("%w: %d of %d files, %d of %d bytes after %s", machine.ErrTimeout, gotFiles, files, gotBytes, bytes, durableLimit)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(askEvery):
		}
	}
}

// removeCopied removes from the tree what was copied in; archives keep what they got.
func (s *session) removeCopied() error {
	var all []error
	for _, path := range s.copied {
		all = append(all, os.RemoveAll(path))
	}
	return errors.Join(all...)
}
