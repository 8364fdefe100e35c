package cache_test

import (
	"testing"
	"time"

	"github.com/archivefs/archivefs/cache"
)

// A download is joined by who trusts what is as old as it.
func TestOldDownloadIsNotJoined(t *testing.T) {
	s := newShelf(t, 100)
	st := newStream(10)
	first := s.open(key(1), time.Minute, st.fetch)
	st.send("old ")
	s.advance(time.Minute)
	joined := s.open(key(1), time.Minute, unasked(t)) // just young enough
	s.advance(time.Second)
	if size, ok := s.Trusted(key(1), time.Minute); ok {
		t.Errorf("%d bytes are trusted, although Open asks the service", size)
	}
	if size, ok := s.Trusted(key(1), forever); !ok || size != 10 {
		t.Errorf("trusted for ever: %d, %v; want the 10 bytes under way", size, ok)
	}
	immutable := s.open(key(1), forever, unasked(t))

	later := s.open(key(1), time.Minute, whole("new", `"e2"`))
	wantBytes(t, later, "new")
	st.send("bytes.")
	st.end()
	for _, r := range []*cache.Reader{first, joined, immutable} {
		wantBytes(t, r, "old bytes.")
		if r.Serial() == later.Serial() {
			t.Error("two contents have one serial")
		}
		_ = r.Close()
	}
	s.WaitIdle()
	wantBytes(t, s.open(key(1), time.Minute, unasked(t)), "new") // the older one is not kept
	s.wantUsage(1, 3)
}

// The older download may end last or first: what is kept is the younger one's.
func TestOldDownloadThatEndsFirstIsNotKept(t *testing.T) {
	s := newShelf(t, 100)
	older, younger := newStream(3), newStream(3)
	first := s.open(key(1), time.Minute, older.fetch)
	s.advance(time.Hour)
	second := s.open(key(1), time.Minute, younger.fetch)
	if first.Serial() == second.Serial() {
		t.Fatal("the old download was joined")
	}
	older.send("old")
	older.end()
	<-older.ended
	wantBytes(t, first, "old")
	younger.send("new")
	younger.end()
	wantBytes(t, second, "new")
	_ = first.Close()
	s.WaitIdle()
	wantBytes(t, s.open(key(1), time.Minute, unasked(t)), "new")
	s.wantUsage(1, 3)
}

// What is trusted counts from when the service was asked, not from when it answered.
func TestContentIsAsOldAsItsRequest(t *testing.T) {
	s := newShelf(t, 100)
	st := newStream(3)
	r := s.open(key(1), time.Minute, st.fetch)
	s.advance(time.Hour)
	st.send("old")
	st.end()
	wantBytes(t, r, "old")
	s.WaitIdle()
	wantBytes(t, s.open(key(1), time.Minute, whole("new", "")), "new")
}
