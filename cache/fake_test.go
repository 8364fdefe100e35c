package cache_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// forever trusts the content of an archived document, whose listing stays the same; ever is the maxAge that
// stands for it.
var forever = cache.Trust{Print: 7}

const ever time.Duration = -1

func key(id archive.ID) cache.Key {
	return cache.Key{Document: id, Representation: archive.Original}
}

// shelf is a content cache under test.
type shelf struct {
	*cache.Content
	*clock
	t     testing.TB
	dir   string
	limit int64
	// service names the files of a service on this machine; nil for one elsewhere.
	service func(sum string, later bool) string
}

func newShelf(t testing.TB, limit int64) *shelf {
	t.Helper()
	s := &shelf{t: t, clock: newClock(), dir: filepath.Join(t.TempDir(), "content"), limit: limit}
	s.start()
	return s
}

// start opens the cache as a new process does.
func (s *shelf) start() {
	s.t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	c, err := cache.OpenContent(cache.Options{Dir: s.dir, Limit: s.limit, Local: s.service, Log: log, Now: s.Now})
	if err != nil {
		s.t.Fatal(err)
	}
	c.SetPause(func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
	s.Content = c
	s.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			s.t.Error(err)
		}
	})
}

// restart closes the cache and opens it as a new process does.
func (s *shelf) restart() {
	s.t.Helper()
	if err := s.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.start()
}

// open opens key and closes the reader at the end of the test, if nobody did before.
func (s *shelf) open(k cache.Key, maxAge time.Duration, fetch cache.Fetch) *cache.Reader {
	s.t.Helper()
	trust := cache.Trust{MaxAge: maxAge}
	if maxAge == ever {
		trust = forever
	}
	r, err := s.Open(s.t.Context(), k, trust, fetch)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = r.Close() })
	return r
}

// put makes the cache hold data for key, and nobody use it.
func (s *shelf) put(k cache.Key, data string) {
	s.t.Helper()
	s.putTagged(k, data, "")
}

// putTagged is put with an ETag.
func (s *shelf) putTagged(k cache.Key, data, etag string) {
	s.t.Helper()
	r := s.open(k, ever, whole(data, etag))
	wantBytes(s.t, r, data)
	_ = r.Close()
	s.WaitIdle()
}

// files returns the paths of all files below the cache's directory.
func (s *shelf) files() []string {
	s.t.Helper()
	var found []string
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// wantUsage fails the test unless that many files and bytes are there, by the cache's
// count and, for the files, on disk.
func (s *shelf) wantUsage(files int, size int64) {
	s.t.Helper()
	stats := s.Stats()
	if stats.Files != files || stats.Bytes != size {
		s.t.Fatalf("%d files, %d bytes; want %d, %d", stats.Files, stats.Bytes, files, size)
	}
	if found := s.files(); len(found) != files {
		s.t.Fatalf("on disk are %q, want %d files", found, files)
	}
}

// wantBytes fails the test unless r has exactly the bytes of data.
func wantBytes(t testing.TB, r *cache.Reader, data string) {
	t.Helper()
	if r.Size() != int64(len(data)) {
		t.Fatalf("size %d, want %d", r.Size(), len(data))
	}
	buf := make([]byte, len(data)+1)
	n, err := r.ReadAt(t.Context(), buf, 0)
	if !errors.Is(err, io.EOF) || string(buf[:n]) != data {
		t.Fatalf("read %d bytes, %v; want all %d as sent", n, err, len(data))
	}
}

// whole is a service that answers with data, its length announced.
func whole(data, etag string) cache.Fetch {
	return func(context.Context, cache.Want) (*archive.Content, error) {
		return &archive.Content{Body: io.NopCloser(strings.NewReader(data)), Size: int64(len(data)), ETag: etag}, nil
	}
}

// unasked is a service that must not be asked.
func unasked(t testing.TB) cache.Fetch {
	return func(_ context.Context, want cache.Want) (*archive.Content, error) {
		t.Errorf("the service was asked for %+v", want)
		return nil, away
	}
}

// service answers one request after the other, as the test says.
type service struct {
	mu      sync.Mutex
	answers []cache.Fetch
	wants   []cache.Want
}

func script(answers ...cache.Fetch) *service { return &service{answers: answers} }

func (s *service) fetch(ctx context.Context, want cache.Want) (*archive.Content, error) {
	s.mu.Lock()
	s.wants = append(s.wants, want)
	n := len(s.wants) - 1
	s.mu.Unlock()
	if n >= len(s.answers) {
		return nil, errors.New("asked more often than the test says")
	}
	return s.answers[n](ctx, want)
}

func (s *service) asked() []cache.Want {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]cache.Want(nil), s.wants...)
}

// part answers with data from offset on, of a content of that size, and then ends with err
// (nil: regularly).
func part(offset int64, data string, size int64, etag string, err error) cache.Fetch {
	return func(context.Context, cache.Want) (*archive.Content, error) {
		body := io.Reader(strings.NewReader(data))
		if err != nil {
			body = io.MultiReader(body, failing{err})
		}
		return &archive.Content{Body: io.NopCloser(body), Offset: offset, Size: size, ETag: etag}, nil
	}
}

// refuse answers with err.
func refuse(err error) cache.Fetch {
	return func(context.Context, cache.Want) (*archive.Content, error) { return nil, err }
}

func notModified(context.Context, cache.Want) (*archive.Content, error) {
	return &archive.Content{NotModified: true}, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// stream is a service whose body the test sends piece by piece.
type stream struct {
	size   int64 // announced, or archive.SizeUnknown
	pieces chan string
	ended  chan struct{} // closed when the download closes the body
}

func newStream(size int64) *stream {
	return &stream{size: size, pieces: make(chan string), ended: make(chan struct{})}
}

func (s *stream) fetch(ctx context.Context, _ cache.Want) (*archive.Content, error) {
	return &archive.Content{Body: &streamBody{ctx: ctx, s: s}, Size: s.size}, nil
}

// send sends p; end ends the body regularly.
func (s *stream) send(p string) { s.pieces <- p }
func (s *stream) end()          { close(s.pieces) }

type streamBody struct {
	ctx  context.Context
	s    *stream
	left bytes.Buffer
}

func (b *streamBody) Read(p []byte) (int, error) {
	if b.left.Len() == 0 {
		select {
		case piece, ok := <-b.s.pieces:
			if !ok {
				return 0, io.EOF
			}
			b.left.WriteString(piece)
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		}
	}
	return b.left.Read(p)
}

func (b *streamBody) Close() error {
	close(b.s.ended)
	return nil
}
