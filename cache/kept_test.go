package cache_test

import (
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// wantKept fails the test unless so many contents, of so many bytes, are kept.
func (s *shelf) wantKept(files int, size int64) {
	s.t.Helper()
	if stats := s.Stats(); stats.Kept != files || stats.KeptBytes != size {
		s.t.Fatalf("kept are %d of %d bytes, want %d of %d", stats.Kept, stats.KeptBytes, files, size)
	}
}

// What is kept is not evicted, also by the next process; what is let go is.
func TestKeptContentsAreNotEvicted(t *testing.T) {
	s := newShelf(t, 30)
	s.put(key(1), "0123456789")
	s.Kept.Keep(key(1), key(2), key(3))
	s.put(key(2), "0123456789")
	s.put(key(3), strings.Repeat("larger than the limit ", 3))
	s.wantKept(3, 86)
	for id := archive.ID(4); id <= 7; id++ {
		s.put(key(id), "0123456789")
	}
	s.wantCached(1, 2, 3, 5, 6, 7)
	if used, limit := s.Usage(); used != 30 || limit != 30 {
		t.Fatalf("usage %d of %d", used, limit)
	}
	if s.Free(1000) {
		s.wantCached(1, 2, 3)
	}
	s.put(key(4), "0123456789")
	s.restart()
	s.wantKept(3, 86)
	s.wantCached(1, 2, 3, 4)
	held, ok := s.Kept.Held(key(3))
	if !ok || !held.Kept || held.Size != 66 || held.Print != forever.Print || held.Tagged {
		t.Errorf("held is %+v, %v", held, ok)
	}

	s.Kept.LetGo(map[cache.Key]bool{key(2): true})
	s.wantKept(1, 10)
	if used, _ := s.Usage(); used > 30 {
		t.Errorf("used are %d bytes", used)
	}
	s.restart()
	s.wantKept(1, 10)
	if held, ok := s.Kept.Held(key(2)); !ok || !held.Kept {
		t.Errorf("held is %+v, %v", held, ok)
	}
}

// Nothing is left of a document that is forgotten, though it was kept, and it is not kept when it comes back.
func TestForget(t *testing.T) {
	s := newShelf(t, 100)
	preview := cache.Key{Document: 77, Representation: archive.Preview}
	for _, k := range []cache.Key{key(1), key(2), preview} {
		s.put(k, "0123456789")
	}
	s.Kept.Keep(key(1), key(2))
	s.Kept.Forget(1)
	s.wantKept(1, 10)
	if ids, previews := s.Kept.Documents(); len(ids) != 1 || !ids[2] || previews {
		t.Errorf("left are %v, previews: %v", ids, previews)
	}
	s.put(key(1), "0123456789")
	s.wantKept(1, 10)
	s.restart()
	s.wantCached(1, 2)
}

// A content that is kept stays so when it is replaced, removed and fetched again, and adopted.
func TestKeptContentsStaySo(t *testing.T) {
	s := newShelf(t, 30)
	s.Kept.Keep(key(1))
	s.putTagged(key(1), "before", `"1"`)
	s.wantKept(1, 6)
	s.advance(time.Hour)
	r := s.open(key(1), time.Minute, whole("afterwards", `"2"`))
	wantBytes(t, r, "afterwards")
	_ = r.Close()
	s.WaitIdle()
	s.wantKept(1, 10)
	s.Remove(key(1))
	s.wantKept(0, 0)
	s.put(key(1), "again")
	s.wantKept(1, 5)
	if s.Kept.Partly(key(1)) || s.Kept.Downloading() != 0 {
		t.Error("it is being downloaded")
	}
	s.Kept.LetGo(nil)
	s.Remove(key(1))
	s.put(key(1), "once more")
	s.wantKept(0, 0)
}

// A download in flight is kept from the moment that somebody says so.
func TestKeepWhileItIsDownloaded(t *testing.T) {
	s := newShelf(t, 10)
	st := newStream(39)
	r := s.open(key(1), ever, st.fetch)
	st.send("a content ")
	st.send("that is ")
	if !s.Kept.Partly(key(1)) || s.Kept.Downloading() != 1 {
		t.Error("it is not being downloaded")
	}
	s.Kept.Keep(key(1))
	st.send("larger than the cache")
	st.end()
	wantBytes(t, r, "a content that is larger than the cache")
	_ = r.Close()
	s.WaitIdle()
	s.wantKept(1, 39)
	s.restart()
	s.wantKept(1, 39)
}
