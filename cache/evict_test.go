package cache_test

import (
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// wantCached fails the test unless exactly these of the documents 1 to 9 are cached.
func (s *shelf) wantCached(ids ...archive.ID) {
	s.t.Helper()
	want := make(map[archive.ID]bool)
	for _, id := range ids {
		want[id] = true
	}
	for id := archive.ID(1); id <= 9; id++ {
		if _, ok := s.Lookup(key(id)); ok != want[id] {
			s.t.Fatalf("document %d is cached: %v, want %v", id, ok, want[id])
		}
	}
}

func TestEvictionTakesTheLeastRecentlyOpened(t *testing.T) {
	s := newShelf(t, 30)
	for id := archive.ID(1); id <= 3; id++ {
		s.put(key(id), "0123456789")
	}
	_ = s.open(key(1), ever, unasked(t)).Close()
	s.put(key(4), "01234")
	s.wantCached(1, 3, 4)
	s.put(key(5), "0123456789abcde") // needs the room of one more
	s.wantCached(1, 4, 5)
	s.wantUsage(3, 30)
	if got := s.Stats().Evicted; got != 2 {
		t.Fatalf("%d evicted, want 2", got)
	}
	if used, limit := s.Usage(); used != 30 || limit != 30 {
		t.Fatalf("usage %d of %d", used, limit)
	}
}

func TestEvictionOrderSurvivesARestart(t *testing.T) {
	s := newShelf(t, 30)
	for id := archive.ID(1); id <= 3; id++ {
		s.put(key(id), "0123456789")
		s.advance(2 * time.Minute)
	}
	_ = s.open(key(1), ever, unasked(t)).Close()
	s.restart()
	s.put(key(4), "0123456789")
	s.wantCached(1, 3, 4)
}

func TestEvictionAtTheStartKeepsASmallerLimit(t *testing.T) {
	s := newShelf(t, 30)
	for id := archive.ID(1); id <= 3; id++ {
		s.put(key(id), "0123456789")
		s.advance(time.Minute)
	}
	s.limit = 15
	s.restart()
	s.wantCached(3)
	s.wantUsage(1, 10)
}

func TestEvictionSparesWhatIsOpen(t *testing.T) {
	s := newShelf(t, 20)
	s.put(key(1), "0123456789")
	r := s.open(key(1), ever, unasked(t))
	s.put(key(2), "0123456789")
	s.put(key(3), "0123456789")
	s.wantCached(1, 3)
	wantBytes(t, r, "0123456789")
	other := s.open(key(3), ever, unasked(t))
	fourth := s.open(key(4), ever, whole("0123456789", ""))
	s.WaitIdle()
	s.wantUsage(3, 30) // all in use: over the limit
	_ = r.Close()
	s.wantCached(3, 4)
	s.wantUsage(2, 20)
	_, _ = other.Close(), fourth.Close()
	s.wantUsage(2, 20)
}

func TestRunningDownloadsCount(t *testing.T) {
	half := strings.Repeat("h", cache.Chunk) // what is written at a time
	s := newShelf(t, 4*cache.Chunk)
	s.put(key(1), half+half)
	s.put(key(2), half+half)
	st := newStream(2 * cache.Chunk)
	s.open(key(3), ever, st.fetch)
	s.wantCached(1, 2) // nothing has come yet
	st.send(half)
	st.send(half[1:]) // is taken when the first is written
	s.wantCached(2)
	if used, _ := s.Usage(); used != 3*cache.Chunk {
		t.Fatalf("%d bytes used, want %d", used, 3*cache.Chunk)
	}
	st.send(half[:1])
	st.end()
	s.WaitIdle()
	s.wantUsage(2, 4*cache.Chunk)
}

func TestContentLargerThanTheLimitIsServedAndNotKept(t *testing.T) {
	s := newShelf(t, 10)
	large := strings.Repeat("large ", 10)
	first := s.open(key(1), ever, whole(large, ""))
	s.WaitIdle()
	second := s.open(key(1), ever, unasked(t)) // while it is open it is shared
	wantBytes(t, first, large)
	_ = first.Close()
	wantBytes(t, second, large)
	if second.File() == nil {
		t.Fatal("no file of a complete content")
	}
	_ = second.Close()
	s.wantUsage(0, 0)

	r := s.open(key(1), ever, whole(large, ""))
	_ = r.Close()
	s.WaitIdle()
	s.wantUsage(0, 0)
}

func TestRemoveLeavesReadersTheirBytes(t *testing.T) {
	s := newShelf(t, 100)
	s.put(key(1), "0123456789")
	r := s.open(key(1), ever, unasked(t))
	s.Remove(key(1))
	s.Remove(key(1))
	s.Remove(key(2))
	wantBytes(t, r, "0123456789")
	if used, _ := s.Usage(); used != 10 || len(s.files()) != 0 {
		t.Fatalf("%d bytes used, files %q; want 10 and none", used, s.files())
	}
	next := s.open(key(1), ever, whole("new", ""))
	wantBytes(t, next, "new")
	if next.Serial() == r.Serial() {
		t.Fatal("the serial did not change")
	}
	_ = r.Close()
	s.WaitIdle()
	s.wantUsage(1, 3)
}

func TestRemoveDuringADownloadKeepsNothing(t *testing.T) {
	s := newShelf(t, 100)
	st := newStream(10)
	r := s.open(key(1), ever, st.fetch)
	st.send("01234")
	s.Remove(key(1))
	next := s.open(key(1), ever, whole("new", ""))
	st.send("56789")
	st.end()
	wantBytes(t, r, "0123456789")
	wantBytes(t, next, "new")
	_ = r.Close()
	s.WaitIdle()
	s.wantUsage(1, 3)
	wantBytes(t, s.open(key(1), ever, unasked(t)), "new")
}
