//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// What copying in may take: cp itself, and until all is at the server.
const (
	copyLimit    = 120 * time.Second
	durableLimit = 180 * time.Second
	askEvery     = 20 * time.Millisecond // as often as the server is asked what it has
)

// untold stands for the bytes of files at a service that tells no sizes.
const untold = -1

// bigSuffix ends the name of the big file in the mount.
const bigSuffix = ".bin"

// copyIn copies files into the mount whose contents no server has seen, and measures until
// cp returned, and until the server has all of them in their size.
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
	if s.sys.synced {
		err = copySynced(source, filepath.Join(s.mnt, "IN", name))
	} else {
		_, err = machine.Run(ctx, `cp -r "$SOURCE" "$IN/$NAME"`, env, copyLimit)
	}
	if err != nil {
		return err
	}
	copied := time.Since(began)
	took, err := s.durable(ctx, name, files, bytes, began)
	if err != nil {
		return err
	}
	after, err := s.requests(ctx)
	if err != nil {
		return err
	}
	s.b.record(s.sys.name, id, took.Seconds(), since(before, after))
	s.b.record(s.sys.name, id+returned, copied.Seconds(), nil)
	return nil
}

// copySynced copies a file, or a directory of files, one after the other: each is safe on the
// disk before the next one begins, as each is that a mount of ours has closed.
func copySynced(source, target string) error {
	return filepath.WalkDir(source, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := target + strings.TrimPrefix(path, source)
		if d.IsDir() {
			return os.Mkdir(to, 0o750) //nolint:gosec // nobody else has the directory
		}
		from, err := os.Open(path) //nolint:gosec // below the corpus
		if err != nil {
			return err
		}
		defer from.Close()      //nolint:errcheck // it was read
		f, err := os.Create(to) //nolint:gosec // below the corpus
		if err != nil {
			return err
		}
		_, err = io.Copy(f, from)
		return errors.Join(err, unix.Fdatasync(int(f.Fd())), f.Close())
	})
}

// durable waits until the server has everything, and returns how long that took.
func (s *session) durable(ctx context.Context, name string, files int, bytes int64, began time.Time) (time.Duration, error) {
	for {
		gotFiles, gotBytes, err := s.sys.arrived(ctx, s, name)
		took := time.Since(began)
		switch {
		case err != nil:
			return 0, err
		case gotFiles == files && gotBytes == untold:
			return took, weighAtService(ctx, s, name, bytes)
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
