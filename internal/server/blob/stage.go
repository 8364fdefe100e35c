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

	"github.com/archivefs/archivefs/internal/durable"
)

const (
	// chunk is how many bytes are hashed and written at a time: part readers hand out a few
	// KiB, and a system call for each would cost more than the hash.
	chunk = 256 << 10
	// large is from how many bytes on a content is hashed beside what receives and writes it:
	// each of the two takes as long. Then there are so many chunks of it.
	large  = 4 * chunk
	chunks = 4
	// stretch is after how many bytes the disk is told to begin to write them, so that the sync
	// of a large content has not to wait for all of it.
	stretch = 8 << 20
)

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
	p := f.chunks.Get().(*[chunk]byte) //nolint:forcetypeassert // of New
	defer f.chunks.Put(p)
	if err := staged.fill(r, p[:]); err != nil {
		return nil, durable.Discard(file, fmt.Errorf("stage content: %w", err))
	}
	return staged, nil
}

// fill writes what r holds by way of p, and of more chunks where it is large.
func (s *stagedFile) fill(r io.Reader, p []byte) error {
	sum := hashing{Hash: sha256.New()}
	defer sum.end()
	for begun := int64(0); ; {
		n, err := readChunk(r, p)
		if err != nil && err != io.EOF { //nolint:errorlint // io.Reader returns io.EOF itself
			return err
		}
		if _, err := s.Write(p[:n]); err != nil {
			return err
		}
		if s.size += int64(n); s.size-begun >= stretch {
			durable.BeginSync(s.File, begun, s.size-begun)
			begun = s.size
		}
		if s.size == large && n > 0 {
			sum.begin()
		}
		p = sum.add(p, n)
		if err == io.EOF { //nolint:errorlint // io.Reader returns io.EOF itself
			sum.end()
			s.digest = hex.EncodeToString(sum.Sum(nil))
			return nil
		}
	}
}

// readChunk fills p from r; at the end of r, with io.EOF, in part.
func readChunk(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = r.Read(p[n:])
		n += more
	}
	return n, err
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
