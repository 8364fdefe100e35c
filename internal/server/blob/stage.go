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
	"sync/atomic"

	"github.com/archivefs/archivefs/internal/durable"
)

const (
	// chunk is how many bytes are hashed and written at a time: readers of multipart bodies return a
	// few KiB, and a system call for each would cost more than the hash.
	chunk = 256 << 10
	// inMemory is how many contents of less than a chunk are kept in memory until they are published.
	// Further ones go to files, so that an e-mail of a thousand attachments does not fill the memory.
	inMemory = 64
	// large is the size from which a content is hashed by a goroutine of its own, because hashing
	// takes as long as receiving and writing. chunks is the number of buffers for that.
	large  = 4 * chunk
	chunks = 4
	// stretch is how many bytes are written before writeback starts, so that the final sync of a
	// large content is short.
	stretch = 8 << 20
)

// staging receives small contents into memory, others into temporary files in one directory.
type staging struct {
	dir string
	// named says that the files are renamed to their final place: they have a name, and writeback starts early. Files
	// without a name disappear with their descriptor, so there is nothing to sweep.
	named  bool
	chunks sync.Pool    // of *[chunk]byte
	held   atomic.Int32 // contents in memory
}

func newStaging(dir string, named bool) *staging {
	return &staging{dir: dir, named: named, chunks: sync.Pool{New: func() any { return new([chunk]byte) }}}
}

func (s *staging) prepare() error {
	if err := durable.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("make directory for uploads: %w", err)
	}
	return nil
}

type stagedFile struct {
	*os.File  // nil in memory
	from      *staging
	digest    string
	size      int64
	placed    bool // its file was renamed, so that there is nothing to remove
	discarded bool

	mu sync.RWMutex
	// memory has the bytes; nil in a file, and after Discard.
	// +checklocks:mu
	memory *[chunk]byte
}

// Stage reads r to its end. It wraps errors of r, and leaves nothing after an error. The memory used
// does not grow with the content.
func (s *staging) Stage(_ context.Context, r io.Reader) (Staged, error) {
	p := s.chunks.Get().(*[chunk]byte) // of New
	n, err := readChunk(r, p[:])
	if err == io.EOF && s.hold() { //nolint:errorlint // io.Reader returns io.EOF itself
		sum := sha256.Sum256(p[:n])
		return &stagedFile{from: s, digest: hex.EncodeToString(sum[:]), size: int64(n), memory: p}, nil
	}
	defer s.chunks.Put(p)
	if err != nil && err != io.EOF { //nolint:errorlint // as above
		return nil, fmt.Errorf("stage content: %w", err)
	}
	file, ferr := s.create()
	if ferr != nil {
		return nil, fmt.Errorf("stage content: %w", ferr)
	}
	staged := &stagedFile{File: file, from: s}
	if err := staged.fill(r, p[:], n, err); err != nil {
		return nil, durable.Discard(file, fmt.Errorf("stage content: %w", err))
	}
	return staged, nil
}

// hold reports whether one more content may stay in memory; drop gives its chunk back.
func (s *staging) hold() bool {
	if s.held.Add(1) <= inMemory {
		return true
	}
	s.held.Add(-1)
	return false
}

func (s *staging) drop(p *[chunk]byte) {
	s.chunks.Put(p)
	s.held.Add(-1)
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

// fill writes the n bytes of p that were read from r, with err, and the rest of r, through p and more
// chunks for a large content.
func (s *stagedFile) fill(r io.Reader, p []byte, n int, err error) error {
	sum := hashing{Hash: sha256.New()}
	defer sum.end()
	for begun := int64(0); ; n, err = readChunk(r, p) {
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

func (s *stagedFile) Digest() string { return s.digest }
func (s *stagedFile) Size() int64    { return s.size }

// ReadAt implements io.ReaderAt. It may come later than Discard, from a request that was answered
// before its body was read.
func (s *stagedFile) ReadAt(p []byte, off int64) (int, error) {
	if s.File != nil {
		return s.File.ReadAt(p, off)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.memory == nil {
		return 0, fs.ErrClosed
	}
	if off < 0 || off > s.size {
		return 0, io.EOF
	}
	n := copy(p, s.memory[off:s.size])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (s *stagedFile) Discard() error {
	if s.discarded {
		return nil
	}
	s.discarded = true
	if s.File == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.from.drop(s.memory)
		s.memory = nil
		return nil
	}
	if s.placed {
		return s.Close()
	}
	return durable.Discard(s.File, nil)
}

// file returns a temporary file with the content, which the caller publishes: the one that it was
// received into, or a new one in dir if it is in memory, or if the first one was placed.
func (s *stagedFile) file(dir string) (*os.File, error) {
	if s.File != nil && !s.placed {
		return s.File, nil
	}
	file, err := durable.CreateTemp(dir)
	if err != nil {
		return nil, err
	}
	if err := s.copyTo(file); err != nil {
		return nil, durable.Discard(file, err)
	}
	return file, nil
}

func (s *stagedFile) copyTo(w io.Writer) error {
	if s.File != nil {
		_, err := io.Copy(w, s.reader())
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, err := w.Write(s.memory[:s.size])
	return err
}

func (s *stagedFile) reader() *io.SectionReader { return io.NewSectionReader(s, 0, s.size) }

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
