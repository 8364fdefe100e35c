package cache_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// farService has a large content, whose download stalls until it is told to go on.
type farService struct {
	content []byte
	etag    string
	goOn    chan struct{}
	// part answers a request for a part.
	part func(s *farService, w cache.Want) (*archive.Content, error)

	asked chan struct{} // tells of requests for parts
	mu    sync.Mutex
	wants []cache.Want
}

func newFarService() *farService {
	s := &farService{etag: `"one"`, goOn: make(chan struct{}), part: honoured, asked: make(chan struct{}, 9)}
	for i := range 6<<20 + 77 {
		s.content = append(s.content, byte(i>>16+i))
	}
	return s
}

func honoured(s *farService, w cache.Want) (*archive.Content, error) {
	return &archive.Content{
		Body: io.NopCloser(bytes.NewReader(s.content[w.Offset : w.Offset+w.Length])), Offset: w.Offset, Size: int64(len(s.content)), ETag: s.etag,
	}, nil
}

func (s *farService) fetch(ctx context.Context, w cache.Want) (*archive.Content, error) {
	s.mu.Lock()
	s.wants = append(s.wants, w)
	s.mu.Unlock()
	if w.Length > 0 {
		s.asked <- struct{}{}
		return s.part(s, w)
	}
	return &archive.Content{Body: &stalling{ctx: ctx, s: s, rest: bytes.NewReader(s.content)}, Size: int64(len(s.content)), ETag: s.etag}, nil
}

type stalling struct {
	ctx  context.Context
	s    *farService
	rest *bytes.Reader
}

func (b *stalling) Read(p []byte) (int, error) {
	select {
	case <-b.s.goOn:
		return b.rest.Read(p)
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}

func (b *stalling) Close() error { return nil }

func (s *farService) wantPart(t *testing.T, r *cache.Reader, off, n int64) {
	t.Helper()
	got := make([]byte, n)
	if _, err := r.ReadAt(t.Context(), got, off); err != nil || !bytes.Equal(got, s.content[off:off+n]) {
		t.Errorf("%d bytes at %d: %v, or others", n, off, err)
	}
}

// Who reads the end of a large content first, as PDF readers do, does not wait for the rest.
func TestTheEndIsReadBeforeTheDownloadComesToIt(t *testing.T) {
	s, sv := newShelf(t, 1<<30), newFarService()
	r := s.open(key(1), ever, sv.fetch)
	size := int64(len(sv.content))
	sv.wantPart(t, r, size-100, 100) // the last part and the one before
	sv.wantPart(t, r, 6<<20, 77)
	sv.wantPart(t, r, 5<<20, 10)
	if len(sv.wants) != 3 {
		t.Errorf("asked for %+v, want the whole and two parts", sv.wants)
	}
	for _, w := range sv.wants[1:] {
		if w.Match != sv.etag || w.Offset%(1<<20) != 0 || w.Length != min(1<<20, size-w.Offset) {
			t.Errorf("asked for %+v", w)
		}
	}
	close(sv.goOn)
	wantBytes(t, r, string(sv.content))
	s.WaitIdle()
	s.wantUsage(1, size)
	s.restart()
	wantBytes(t, s.open(key(1), ever, unasked(t)), string(sv.content))
}

// Where parts cannot be had, or are not of the same content, the download is waited for.
func TestPartsThatCannotBeHad(t *testing.T) {
	for name, tt := range map[string]struct {
		part func(s *farService, w cache.Want) (*archive.Content, error)
		etag string
		asks int
	}{
		"the whole instead": {part: func(s *farService, _ cache.Want) (*archive.Content, error) {
			return &archive.Content{Body: io.NopCloser(bytes.NewReader(s.content)), Size: int64(len(s.content)), ETag: s.etag}, nil
		}, etag: `"one"`, asks: 2},
		"of another content": {part: func(s *farService, w cache.Want) (*archive.Content, error) {
			c, err := honoured(s, w)
			c.ETag = `"two"`
			return c, err
		}, etag: `"one"`, asks: 2},
		"too short": {part: func(s *farService, w cache.Want) (*archive.Content, error) {
			c, err := honoured(s, w)
			c.Body = io.NopCloser(bytes.NewReader(nil))
			return c, err
		}, etag: `"one"`, asks: 2},
		"refused":       {part: func(*farService, cache.Want) (*archive.Content, error) { return nil, errors.New("416") }, etag: `"one"`, asks: 2},
		"no strong tag": {part: honoured, etag: `W/"one"`, asks: 1},
		"no tag":        {part: honoured, asks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, sv := newShelf(t, 1<<30), newFarService()
			sv.part, sv.etag = tt.part, tt.etag
			r := s.open(key(1), ever, sv.fetch)
			var readers sync.WaitGroup
			for range 3 {
				readers.Go(func() { sv.wantPart(t, r, 6<<20, 77) })
			}
			if tt.asks == 1 {
				close(sv.goOn)
			} else {
				<-sv.asked
				close(sv.goOn)
			}
			readers.Wait()
			wantBytes(t, r, string(sv.content))
			if len(sv.wants) != tt.asks {
				t.Errorf("asked for %+v, want %d", sv.wants, tt.asks)
			}
		})
	}
}

// What was read far ahead is never mixed with another content.
func TestChangedAfterAPartWasRead(t *testing.T) {
	s, sv := newShelf(t, 1<<30), newFarService()
	broken := true
	r := s.open(key(1), ever, func(ctx context.Context, w cache.Want) (*archive.Content, error) {
		c, err := sv.fetch(ctx, w)
		switch {
		case w.Length > 0:
		case broken:
			broken = false
			c.Body = &breaking{c.Body}
		default:
			c.ETag, c.Body = `"two"`, io.NopCloser(bytes.NewReader(bytes.ToUpper(sv.content)))
		}
		return c, err
	})
	sv.wantPart(t, r, 6<<20, 77)
	close(sv.goOn)
	if _, err := r.ReadAt(t.Context(), make([]byte, 1), 0); !errors.Is(err, cache.ErrChanged) {
		t.Fatalf("got %v, want ErrChanged", err)
	}
	if _, err := r.ReadAt(t.Context(), make([]byte, 77), 6<<20); !errors.Is(err, cache.ErrChanged) {
		t.Fatalf("the part: got %v, want ErrChanged", err)
	}
}

// breaking is a body that breaks as soon as it goes on.
type breaking struct{ io.ReadCloser }

func (b *breaking) Read([]byte) (int, error) {
	if _, err := b.ReadCloser.Read(make([]byte, 1)); err != nil {
		return 0, err
	}
	return 0, io.ErrUnexpectedEOF
}
