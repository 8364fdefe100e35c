package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// stagedFile is a content in a temporary file below incoming.
type stagedFile struct {
	*os.File
	files  *Files
	digest string
	size   int64
	done   bool
}

// Stage reads r to its end into a temporary file. An error of r is returned wrapped,
// and nothing stays behind. The memory used does not grow with the content.
func (f *Files) Stage(_ context.Context, r io.Reader) (Staged, error) {
	file, err := os.CreateTemp(filepath.Join(f.dir, incoming), "content-*")
	if err != nil {
		return nil, fmt.Errorf("stage content: %w", err)
	}
	staged := &stagedFile{File: file, files: f}
	sum := sha256.New()
	staged.size, err = io.Copy(io.MultiWriter(file, sum), r)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("stage content: %w", err), staged.Discard())
	}
	staged.digest = hex.EncodeToString(sum.Sum(nil))
	return staged, nil
}

// Digest implements Staged.
func (s *stagedFile) Digest() string { return s.digest }

// Size implements Staged.
func (s *stagedFile) Size() int64 { return s.size }

// Publish implements Staged: sync, rename, sync of the directory. A content that is
// kept already is replaced by its equal, so that it is durable in any case.
func (s *stagedFile) Publish(context.Context) error {
	if s.done {
		return nil
	}
	if err := s.Sync(); err != nil {
		return fmt.Errorf("sync content: %w", err)
	}
	target := s.files.path(s.digest)
	if err := s.files.makeShard(filepath.Dir(target)); err != nil {
		return err
	}
	if err := os.Rename(s.Name(), target); err != nil {
		return fmt.Errorf("publish content: %w", err)
	}
	s.done = true
	return errors.Join(syncDir(filepath.Dir(target)), s.Close())
}

// Discard implements Staged.
func (s *stagedFile) Discard() error {
	if s.done {
		return nil
	}
	s.done = true
	if err := errors.Join(s.Close(), os.Remove(s.Name())); err != nil {
		return fmt.Errorf("discard content: %w", err)
	}
	return nil
}

// makeShard makes the sub-directory of a digest durable the first time it is needed.
func (f *Files) makeShard(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make content directory: %w", err)
	}
	return syncDir(f.dir)
}
