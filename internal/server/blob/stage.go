package blob

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/archivefs/archivefs/internal/durable"
)

// chunk is how many bytes are hashed and written at a time: part readers hand out a few
// KiB, and a system call for each would cost more than the hash.
const chunk = 256 << 10

// stagedFile is a content in a temporary file below incoming.
type stagedFile struct {
	*os.File
	files  *Files
	digest string
	size   int64
	done   bool // published or discarded
}

// Stage reads r to its end into a temporary file. An error of r is returned wrapped,
// and nothing stays behind. The memory used does not grow with the content.
func (f *Files) Stage(_ context.Context, r io.Reader) (Staged, error) {
	file, err := durable.CreateTemp(filepath.Join(f.dir, incoming))
	if err != nil {
		return nil, fmt.Errorf("stage content: %w", err)
	}
	staged := &stagedFile{File: file, files: f}
	w := f.writers.Get().(*bufio.Writer) //nolint:forcetypeassert // of New
	defer f.writers.Put(w)
	if err := staged.fill(w, r); err != nil {
		return nil, durable.Discard(file, fmt.Errorf("stage content: %w", err))
	}
	return staged, nil
}

// fill writes what r holds by way of w.
func (s *stagedFile) fill(w *bufio.Writer, r io.Reader) error {
	sum := sha256.New()
	w.Reset(io.MultiWriter(s.File, sum))
	defer w.Reset(nil)
	n, err := io.Copy(w, r)
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	s.size, s.digest = n, hex.EncodeToString(sum.Sum(nil))
	return nil
}

// Digest implements Staged.
func (s *stagedFile) Digest() string { return s.digest }

// Size implements Staged.
func (s *stagedFile) Size() int64 { return s.size }

// Publish makes contents that were staged here durable under their digests, all with few
// waits for the disk. It returns once a crash can no longer lose them. A content that is
// kept already is replaced by its equal, so that it is durable in any case. After an error
// some may be kept and others not.
func (f *Files) Publish(_ context.Context, contents ...Staged) error {
	var named []durable.Named
	var files []*stagedFile
	for _, content := range contents {
		staged, ours := content.(*stagedFile)
		if !ours || staged.files != f {
			return fmt.Errorf("publish content %s: it was not staged here", content.Digest())
		}
		if staged.done {
			continue
		}
		target := f.path(staged.digest)
		if err := f.makeShard(filepath.Dir(target)); err != nil {
			return err
		}
		named, files = append(named, durable.Named{File: staged.File, Path: target}), append(files, staged)
	}
	if err := durable.PublishAll(named); err != nil {
		return fmt.Errorf("publish content: %w", err)
	}
	var errs []error
	for _, staged := range files {
		staged.done = true
		errs = append(errs, staged.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("publish content: %w", err)
	}
	return nil
}

// Discard implements Staged.
func (s *stagedFile) Discard() error {
	if s.done {
		return nil
	}
	s.done = true
	return durable.Discard(s.File, nil)
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
	if err := durable.SyncDir(f.dir); err != nil {
		return fmt.Errorf("make content directory: %w", err)
	}
	return nil
}
