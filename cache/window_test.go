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

// wideService has a content of several blocks.
type wideService struct {
	etag    string
	whole   bool  // it answers with all of it, whatever part is asked for
	unsized bool  // it does not announce the length
	breaks  int64 // after so many bytes an answer breaks, 0 for never

	mu      sync.Mutex
	content []byte
	wants   []cache.Want
	open    int // answers that are not closed
}

func newWideService(etag string) *wideService {
	return &wideService{etag: etag, content: wideContent()}
}

// wideContent is more than a window holds.
var wideContent = sync.OnceValue(func() []byte {
	content := make([]byte, 20*cache.BlockSize+77)
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
	off := w.Offset
	if s.whole {
		off = 0
	}
	body := io.Reader(bytes.NewReader(s.content[off:]))
	if s.breaks > 0 {
		body = io.MultiReader(io.LimitReader(body, s.breaks), failing{away})
	}
	size := int64(len(s.content))
	if s.unsized {
		size = archive.SizeUnknown
	}
	return &archive.Content{Body: closing{body, s}, Offset: off, Size: size, ETag: s.etag}, nil
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

func TestContentsThatTheDiskHasNoRoomFor(t *testing.T) {
	for name, tt := range map[string]struct {
		service *wideService
		after   int64
		says    bool
	}{
		"parts":                               {service: &wideService{etag: `"one"`}, says: true},
		"parts, found out late":               {service: &wideService{etag: `"one"`}, after: 5*cache.BlockSize + 5},
		"no parts":                            {service: &wideService{etag: `"one"`, whole: true}, says: true},
		"no ETag":                             {service: &wideService{}, says: true},
		"no ETag, found out late":             {service: &wideService{}, after: 5*cache.BlockSize + 5},
		"no length":                           {service: &wideService{unsized: true}, after: 5*cache.BlockSize + 5},
		"no length and parts":                 {service: &wideService{etag: `"one"`, unsized: true}, after: cache.Chunk},
		"answers that break":                  {service: &wideService{etag: `"one"`, breaks: 3*cache.BlockSize + 7}, says: true},
		"answers that break within one block": {service: &wideService{etag: `"one"`, breaks: cache.BlockSize}, says: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, sv := newShelf(t, 1<<30), newWideService(tt.service.etag)
			sv.whole, sv.unsized, sv.breaks = tt.service.whole, tt.service.unsized, tt.service.breaks
			s.put(key(2), "stays")
			s.full(tt.after, tt.says)
			r := s.open(key(1), forever, sv.fetch)
			size := int64(len(sv.content))
			if err := r.Wait(t.Context()); !errors.Is(err, cache.ErrNotKept) {
				t.Errorf("wait: %v", err)
			}
			if r.File() != nil {
				t.Error("it has a file")
			}
			wantBytes(t, r, string(sv.content))      // in order
			sv.wantAt(t, r, size-100, 100)           // the end
			sv.wantAt(t, r, 3, 2*cache.BlockSize)    // the start again
			sv.wantAt(t, r, 11*cache.BlockSize-5, 9) // across blocks
			var readers sync.WaitGroup
			for range 4 {
				other := s.open(key(1), forever, sv.fetch)
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

// What is in the way is not dropped for what finds no room even so.
func TestNothingIsDroppedForWhatFindsNoRoom(t *testing.T) {
	s, sv := newShelf(t, 1<<30), newWideService(`"one"`)
	s.put(key(2), "stays")
	s.full(cache.BlockSize, true)
	r := s.open(key(1), forever, sv.fetch)
	sv.wantAt(t, r, 7, 70)
	_ = r.Close()
	s.WaitIdle()
	s.wantUsage(1, 5)
	if sv.open != 0 {
		t.Errorf("%d answers are not closed", sv.open)
	}
	if wants := sv.asked(); len(wants) != 1 {
		t.Errorf("asked for %+v, want the one answer to be read", wants)
	}
}

// A part far away is asked for by itself, one nearby is waited for.
func TestOnlyWhatIsReadIsFetched(t *testing.T) {
	s, sv := newShelf(t, 1<<30), newWideService(`"one"`)
	s.full(0, true)
	r := s.open(key(1), forever, sv.fetch)
	sv.wantAt(t, r, 15*cache.BlockSize+1, 1)
	sv.wantAt(t, r, 17*cache.BlockSize+1, 1)
	sv.wantAt(t, r, 15*cache.BlockSize+7, 1)
	wants := sv.asked()
	if len(wants) != 2 || wants[1] != (cache.Want{Offset: 15 * cache.BlockSize, Match: `"one"`}) {
		t.Errorf("asked for %+v", wants)
	}
}

// Bytes of two contents are never mixed.
func TestAContentThatChangesBehindItsWindow(t *testing.T) {
	for _, etag := range []string{`"one"`, ""} {
		for _, after := range []int64{0, 2*cache.BlockSize + 5} {
			t.Run(fmt.Sprintf("%s, after %d", etag, after), func(t *testing.T) {
				s, sv := newShelf(t, 1<<30), newWideService(etag)
				s.full(after, after == 0)
				r := s.open(key(1), forever, sv.fetch)
				wantBytes(t, r, string(sv.content))
				sv.change(2*cache.BlockSize + 1)
				if _, err := r.ReadAt(t.Context(), make([]byte, 3*cache.BlockSize), 0); !errors.Is(err, cache.ErrChanged) {
					t.Errorf("got %v, want that it has changed", err)
				}
			})
		}
	}
}

func TestAWindowThatTheServiceRefuses(t *testing.T) {
	s, sv := newShelf(t, 1<<30), newWideService(`"one"`)
	s.full(0, true)
	gone := &archive.Error{Op: "content", Kind: archive.KindNotFound}
	var refused bool
	r := s.open(key(1), forever, func(ctx context.Context, w cache.Want) (*archive.Content, error) {
		if refused {
			return nil, gone
		}
		refused = true
		return sv.fetch(ctx, w)
	})
	for range 2 { // who comes later is told the same
		if _, err := r.ReadAt(t.Context(), make([]byte, 5), 19*cache.BlockSize); !errors.Is(err, gone) {
			t.Errorf("got %v, want %v", err, gone)
		}
	}
}

// Who is killed while they wait leaves at once.
func TestAReaderOfAWindowLeaves(t *testing.T) {
	s, sv := newShelf(t, 1<<30), newFarService()
	s.full(0, true)
	r := s.open(key(1), forever, sv.fetch)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.ReadAt(ctx, make([]byte, 5), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(sv.goOn)
	wantBytes(t, r, string(sv.content))
}

// A service whose answers stand still is given one more try, and not each reader's patience.
func TestAWindowOnAnswersThatStandStill(t *testing.T) {
	s, sv := newShelf(t, 1<<30), newWideService(`"one"`)
	s.full(0, true)
	still := &archive.Error{Op: "content", Kind: archive.KindTimeout}
	asked := 0
	r := s.open(key(1), forever, func(ctx context.Context, w cache.Want) (*archive.Content, error) {
		asked++
		c, err := sv.fetch(ctx, w)
		c.Body = io.NopCloser(failing{still})
		return c, err
	})
	if _, err := r.ReadAt(t.Context(), make([]byte, 5), 0); !errors.Is(err, still) {
		t.Errorf("got %v, want %v", err, still)
	}
	if asked != 2 {
		t.Errorf("asked %d times, want twice", asked)
	}
}
