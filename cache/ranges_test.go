package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// wideService has a content of several blocks, or a small one.
type wideService struct {
	etag    string
	whole   bool  // it answers with all of it, whatever part is asked for
	unsized bool  // it does not announce the length
	breaks  int64 // the first and the third answer from an offset break after so many bytes, 0 for never
	small   bool  // the content is shorter than a block

	mu      sync.Mutex
	content []byte
	wants   []cache.Want
	open    int // answers that are not closed
}

func (s *wideService) begin() *wideService {
	s.content = wideContent()
	if s.small {
		s.content = s.content[:3*cache.Chunk+5]
	}
	return s
}

// wideContent is more than what is in memory of a content.
var wideContent = sync.OnceValue(func() []byte {
	content := make([]byte, 6*cache.BlockSize+77)
	for i := range content {
		content[i] = byte(i>>16 + i)
	}
	return content
})

func (s *wideService) fetch(_ context.Context, w cache.Want) (*archive.Content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wants = append(s.wants, w)
	s.open++
	off, end := w.Offset, int64(len(s.content))
	switch {
	case s.whole:
		off = 0
	case off > 0 && w.Length > 0:
		end = off + w.Length
	}
	size := int64(len(s.content))
	if s.unsized && off == 0 {
		size = archive.SizeUnknown
	}
	body := io.Reader(bytes.NewReader(s.content[off:end]))
	if n := s.times(w.Offset); s.breaks > 0 && (n == 1 || n == 3) { // fewer than one reader tries
		body = io.MultiReader(io.LimitReader(body, s.breaks), failing{away})
	}
	return &archive.Content{Body: closing{body, s}, Offset: off, Size: size, ETag: s.etag}, nil
}

// times returns how often an offset was asked for.
func (s *wideService) times(off int64) (n int) {
	for _, w := range s.wants {
		if w.Offset == off {
			n++
		}
	}
	return n
}

// change makes the service have another content.
func (s *wideService) change(at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content = bytes.Clone(s.content)
	s.content[at]++
	if s.etag != "" {
		s.etag = `"other"`
	}
}

func (s *wideService) asked() []cache.Want {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]cache.Want(nil), s.wants...)
}

type closing struct {
	io.Reader
	s *wideService
}

func (c closing) Close() error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.open--
	return nil
}

func (s *wideService) wantAt(t *testing.T, r *cache.Reader, off, n int64) {
	t.Helper()
	got := make([]byte, n)
	if _, err := r.ReadAt(t.Context(), got, off); err != nil || !bytes.Equal(got, s.content[off:off+n]) {
		t.Errorf("%d bytes at %d: %v, or others", n, off, err)
	}
}

// full makes the disk of the shelf full: as it says, or as writes find out after some bytes.
func (s *shelf) full(after int64, says bool) {
	if says {
		s.SetFree(func() (int64, error) { return after, nil })
		return
	}
	s.SetWrite(func(f *os.File, p []byte, off int64) (int, error) {
		if off+int64(len(p)) > after {
			return 0, syscall.ENOSPC
		}
		return f.WriteAt(p, off)
	})
}

const late = cache.BlockSize + 5

func TestContentsThatTheDiskHasNoRoomForAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		service *wideService
		after   int64 // 0: the disk says so at the start
	}{
		"ranges":                       {service: &wideService{etag: `"one"`}},
		"ranges, found out late":       {service: &wideService{etag: `"one"`}, after: late},
		"no length":                    {service: &wideService{etag: `"one"`, unsized: true}, after: cache.Chunk},
		"no length, found out late":    {service: &wideService{etag: `"one"`, unsized: true}, after: late},
		"answers that break":           {service: &wideService{etag: `"one"`, breaks: cache.BlockSize / 2}},
		"small":                        {service: &wideService{small: true}},
		"small, found out late":        {service: &wideService{small: true}, after: cache.Chunk},
		"small, no ranges":             {service: &wideService{small: true, whole: true, etag: `"one"`}},
		"small, no length":             {service: &wideService{small: true, unsized: true}, after: cache.Chunk},
		"small, with answers that end": {service: &wideService{small: true, breaks: cache.Chunk}},
	} {
		t.Run(name, func(t *testing.T) {
			s, sv := newShelf(t, 1<<30), tt.service.begin()
			s.put(key(2), "stays")
			s.full(tt.after, tt.after == 0)
			r := s.open(key(1), ever, sv.fetch)
			size := int64(len(sv.content))
			if err := r.Wait(t.Context()); !errors.Is(err, cache.ErrNotKept) {
				t.Errorf("wait: %v", err)
			}
			if r.File() != nil {
				t.Error("it has a file")
			}
			wantBytes(t, r, string(sv.content)) // in order
			sv.wantAt(t, r, size-100, 100)      // the end
			sv.wantAt(t, r, 3, size/2)          // the start again, over several blocks
			var readers sync.WaitGroup
			for range 4 {
				other := s.open(key(1), ever, sv.fetch)
				readers.Go(func() {
					for range 5 {
						off := rand.Int64N(size - 1000)
						sv.wantAt(t, other, off, 1000)
					}
				})
			}
			readers.Wait()
			if used, _ := s.Usage(); used > 5 {
				t.Errorf("%d bytes are counted", used)
			}
			_ = r.Close()
			if t.Failed() {
				t.Logf("asked for %+v", sv.asked())
			}
		})
	}
}

func TestContentsThatCanNeitherBeStoredNorReadByRanges(t *testing.T) {
	for name, tt := range map[string]struct {
		service *wideService
		after   int64
	}{
		"no ranges":               {service: &wideService{etag: `"one"`, whole: true}},
		"no ranges and no length": {service: &wideService{etag: `"one"`, whole: true, unsized: true}, after: cache.Chunk},
		"no ETag":                 {service: &wideService{}},
		"a weak ETag":             {service: &wideService{etag: `W/"one"`}},
		"no ETag, found out late": {service: &wideService{}, after: late},
		"no ETag and no length":   {service: &wideService{unsized: true}, after: late},
	} {
		t.Run(name, func(t *testing.T) {
			s, sv := newShelf(t, 1<<30), tt.service.begin()
			s.full(tt.after, tt.after == 0)
			r, err := s.Open(t.Context(), key(1), forever, sv.fetch)
			if err == nil {
				_, err = r.ReadAt(t.Context(), make([]byte, 10), 5*cache.BlockSize)
				_ = r.Close()
			}
			if !errors.Is(err, cache.ErrNotKept) || !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("got %v, want that there is no room", err)
			}
			s.WaitIdle()
			if sv.open != 0 {
				t.Errorf("%d answers are not closed", sv.open)
			}
		})
	}
}

// What is in the way is not dropped for what finds no room even so.
func TestNothingIsDroppedForWhatFindsNoRoom(t *testing.T) {
	s, sv := newShelf(t, 1<<30), (&wideService{etag: `"one"`}).begin()
	s.put(key(2), "stays")
	s.full(cache.BlockSize, true)
	r := s.open(key(1), ever, sv.fetch)
	sv.wantAt(t, r, 7, 70)
	_ = r.Close()
	s.WaitIdle()
	s.wantUsage(1, 5)
	if sv.open != 0 {
		t.Errorf("%d answers are not closed", sv.open)
	}
}

// A program reads some KiB at a time, and the service gets a request for some MiB.
func TestARangeIsRequestedOnceForAllThatIsReadOfIt(t *testing.T) {
	s, sv := newShelf(t, 1<<30), (&wideService{etag: `"one"`}).begin()
	s.full(0, true)
	r := s.open(key(1), ever, sv.fetch)
	size := int64(len(sv.content))
	for off := int64(0); off < size; off += 128 << 10 {
		sv.wantAt(t, r, off, min(4<<10, size-off))
	}
	wants := sv.asked()[1:]
	for i, w := range wants {
		off := int64(i) * cache.BlockSize
		if w != (cache.Want{Offset: off, Length: min(cache.BlockSize, size-off), Match: `"one"`}) {
			t.Errorf("asked for %+v", w)
		}
	}
	if len(wants) != 7 {
		t.Errorf("asked %d times, want once for each of 7 blocks", len(wants))
	}
}

// Bytes of two contents are never mixed.
func TestAContentThatChangesWhileItIsReadByRanges(t *testing.T) {
	for _, after := range []int64{0, late} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			s, sv := newShelf(t, 1<<30), (&wideService{etag: `"one"`}).begin()
			s.full(after, after == 0)
			r := s.open(key(1), ever, sv.fetch)
			wantBytes(t, r, string(sv.content))
			sv.change(cache.BlockSize + 1)
			if _, err := r.ReadAt(t.Context(), make([]byte, 2*cache.BlockSize), 0); !errors.Is(err, cache.ErrChanged) {
				t.Errorf("got %v, want that it has changed", err)
			}
		})
	}
}

// What was read of a small content before the disk was full is the beginning of what comes then.
func TestASmallContentThatChangesWhenTheDiskIsFull(t *testing.T) {
	s, sv := newShelf(t, 1<<30), (&wideService{small: true}).begin()
	s.full(2*cache.Chunk, false)
	first := true
	r := s.open(key(1), ever, func(ctx context.Context, w cache.Want) (*archive.Content, error) {
		if !first {
			sv.change(3)
		}
		first = false
		return sv.fetch(ctx, w)
	})
	if err := r.Wait(t.Context()); !errors.Is(err, cache.ErrChanged) {
		t.Errorf("got %v, want that it has changed", err)
	}
}

func TestARangeThatTheServiceRefuses(t *testing.T) {
	s, sv := newShelf(t, 1<<30), (&wideService{etag: `"one"`}).begin()
	s.full(0, true)
	gone := &archive.Error{Op: "content", Kind: archive.KindNotFound}
	var refused bool
	r := s.open(key(1), ever, func(ctx context.Context, w cache.Want) (*archive.Content, error) {
		if refused {
			return nil, gone
		}
		refused = true
		return sv.fetch(ctx, w)
	})
	for range 2 { // each read asks again
		if _, err := r.ReadAt(t.Context(), make([]byte, 5), 5*cache.BlockSize); !errors.Is(err, gone) {
			t.Errorf("got %v, want %v", err, gone)
		}
	}
}

// A reader that is killed while it waits leaves at once.
func TestAReaderOfARangeLeaves(t *testing.T) {
	s, sv := newShelf(t, 1<<30), (&wideService{etag: `"one"`}).begin()
	s.full(0, true)
	arrive := make(chan struct{})
	r := s.open(key(1), ever, func(ctx context.Context, w cache.Want) (*archive.Content, error) {
		if w.Length > 0 {
			<-arrive
		}
		return sv.fetch(ctx, w)
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.ReadAt(ctx, make([]byte, 5), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(arrive)
	wantBytes(t, r, string(sv.content))
}

// An answer that stands still is an error of that read: the client has waited long enough.
func TestARangeWhoseAnswerStandsStill(t *testing.T) {
	s, sv := newShelf(t, 1<<30), (&wideService{etag: `"one"`}).begin()
	s.full(0, true)
	still := &archive.Error{Op: "content", Kind: archive.KindTimeout}
	r := s.open(key(1), ever, func(ctx context.Context, w cache.Want) (*archive.Content, error) {
		c, err := sv.fetch(ctx, w)
		c.Body = closing{failing{still}, sv}
		return c, err
	})
	if _, err := r.ReadAt(t.Context(), make([]byte, 5), 0); !errors.Is(err, still) {
		t.Errorf("got %v, want %v", err, still)
	}
	if asked := sv.asked(); len(asked) != 2 {
		t.Errorf("asked for %+v, want the content and one range of it", asked)
	}
}
