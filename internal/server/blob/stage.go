package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/archivefs/archivefs/internal/durable"
)

const (
	// chunk is how many bytes are hashed and written at a time: readers of multipart bodies return a
	// few KiB, and a system call for each would cost more than the hash.
	chunk = 256 << 10
	// large is the size from which a content is hashed by a goroutine of its own, because hashing
	// takes as long as receiving and writing. chunks is the number of buffers for that.
	large  = 4 * chunk
	chunks = 4
	// stretch is how many bytes are written before writeback starts, so that the final sync of a
	// large content is short.
	stretch = 8 << 20
)

// staging receives contents into temporary files in one directory.
type staging struct {
	dir string
	// named says that the files are renamed to their final place: they have a name, and writeback
	// starts early. Files without a name disappear with their descriptor, so there is nothing to
	// sweep.
	named  bool
	chunks sync.Pool // of *[chunk]byte
}

func newStaging(dir string, named bool) *staging {
	return &staging{dir: dir, named: named, chunks: sync.Pool{New: func() any { return new([chunk]byte) }}}
}

// prepare creates the directory.
func (s *staging) prepare() error {
	if err := durable.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("make directory for uploads: %w", err)
	}
	return nil
}

// stagedFile is a content in a temporary file.
type stagedFile struct {
	*os.File
	from      *staging
	digest    string
	size      int64
	published bool // renamed, so that there is nothing to remove
	discarded bool
}

// Stage reads r to its end into a temporary file. It wraps errors of r, and leaves nothing after an
// error. The memory used does not grow with the content.
func (s *staging) Stage(_ context.Context, r io.Reader) (Staged, error) {
	file, err := s.create()
	if err != nil {
		return nil, fmt.Errorf("stage content: %w", err)
	}
	staged := &stagedFile{File: file, from: s}
	p := s.chunks.Get().(*[chunk]byte) // of New
	defer s.chunks.Put(p)
	if err := staged.fill(r, p[:]); err != nil {
		return nil, durable.Discard(file, fmt.Errorf("stage content: %w", err))
	}
	return staged, nil
}

func (s *staging) create() (*os.File, error) {
	file, err := durable.CreateTemp(s.dir)
	if err != nil || s.named {
		return file, err
	}
	if err := os.Remove(file.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, durable.Discard(file, err)
	}
	return file, nil
}

// own returns the contents that were not discarded; all of them must have been staged by s.
func (s *staging) own(contents []Staged) ([]*stagedFile, error) {
	files := make([]*stagedFile, 0, len(contents))
	for _, content := range contents {
		staged, ours := content.(*stagedFile)
		if !ours || staged.from != s {
			return nil, fmt.Errorf("publish content %s: it was not staged by this process", content.Digest())
		}
		if !staged.discarded {
			files = append(files, staged)
		}
	}
	return files, nil
}

// fill writes the bytes of r, through p, and more chunks for a large content.
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
		if s.size += int64(n); s.from.named && s.size-begun >= stretch {
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

// readChunk fills p from r; at the end of r, partly and with io.EOF.
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

// Discard implements Staged.
func (s *stagedFile) Discard() error {
	if s.discarded {
		return nil
	}
	s.discarded = true
	if s.published {
		return s.Close()
	}
	return durable.Discard(s.File, nil)
}

// renew copies the received bytes to a new file, which is not published.
func (s *stagedFile) renew() error {
	file, err := s.from.create()
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, io.NewSectionReader(s, 0, s.size)); err != nil {
		return durable.Discard(file, err)
	}
	err = s.Close()
	s.File, s.published = file, false
	return err
}

// hashing is a hash that is computed by the caller or, after begin, by a goroutine of its own.
type hashing struct {
	hash.Hash
	todo chan []byte // nil while there is no goroutine
	free chan []byte // hashed chunks
}

// begin starts the goroutine, which end ends.
func (h *hashing) begin() {
	h.todo, h.free = make(chan []byte, chunks), make(chan []byte, chunks)
	for range chunks - 1 {
		h.free <- make([]byte, chunk)
	}
	go func(todo <-chan []byte, free chan<- []byte) {
		defer close(free)
		for p := range todo {
			_, _ = h.Write(p) // it never fails
			free <- p[:cap(p)]
		}
	}(h.todo, h.free)
}

// add hashes the first n bytes of p, and returns a buffer for the next ones.
func (h *hashing) add(p []byte, n int) []byte {
	if h.todo == nil {
		_, _ = h.Write(p[:n]) // it never fails
		return p
	}
	h.todo <- p[:n]
	return <-h.free
}

// end waits until all bytes are hashed; then Sum can be called. A second call does nothing.
func (h *hashing) end() {
	if h.todo == nil {
		return
	}
	close(h.todo)
	for range h.free { // until all is hashed
	}
	h.todo = nil
}
