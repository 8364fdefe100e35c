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
	if size, ok := s.Trusted(key(1), cache.Trust{MaxAge: time.Minute}); ok {
		t.Errorf("%d bytes are trusted, although Open asks the service", size)
	}
	later := s.open(key(1), time.Minute, whole("new", `"e2"`))
	wantBytes(t, later, "new")
	st.send("bytes.")
	st.end()
	for _, r := range []*cache.Reader{first, joined} {
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

// A content that does not change any more is joined however old its download is.
func TestFinalDownloadIsJoined(t *testing.T) {
	s := newShelf(t, 100)
	st := newStream(5)
	first := s.open(key(1), ever, st.fetch)
	s.advance(time.Hour)
	if size, ok := s.Trusted(key(1), forever); !ok || size != 5 {
		t.Errorf("trusted: %d, %v; want the 5 bytes under way", size, ok)
	}
	joined := s.open(key(1), ever, unasked(t))
	st.send("final")
	st.end()
	wantBytes(t, first, "final")
	wantBytes(t, joined, "final")
}

// What was fetched while it could change is validated once when it cannot change any more.
func TestDraftIsValidatedWhenItIsFinal(t *testing.T) {
	for name, tt := range map[string]struct {
		answer cache.Fetch
		want   string
	}{
		"the same": {notModified, "draft"},
		"another":  {whole("final", `"e2"`), "final"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t, 100)
			draft := s.open(key(1), time.Minute, whole("draft", `"e1"`))
			wantBytes(t, draft, "draft") // else its close may cancel the download
			_ = draft.Close()
			s.WaitIdle()
			s.restart()
			if _, ok := s.Trusted(key(1), forever); ok {
				t.Error("a draft is trusted for ever")
			}
			sv := script(tt.answer)
			wantBytes(t, s.open(key(1), ever, sv.fetch), tt.want)
			if got := sv.asked(); len(got) != 1 || got[0] != (cache.Want{NoneMatch: `"e1"`}) {
				t.Errorf("asked for %+v", got)
			}
			s.WaitIdle()
			s.restart()
			s.advance(time.Hour)
			wantBytes(t, s.open(key(1), ever, unasked(t)), tt.want)
		})
	}
}

// A download that began while the content could change is not joined when it cannot.
func TestDownloadOfADraftIsNotFinal(t *testing.T) {
	s := newShelf(t, 100)
	st := newStream(5)
	draft := s.open(key(1), time.Minute, st.fetch)
	final := s.open(key(1), ever, whole("final", ""))
	st.send("draft")
	st.end()
	wantBytes(t, draft, "draft")
	wantBytes(t, final, "final")
	_ = draft.Close()
	s.WaitIdle()
	wantBytes(t, s.open(key(1), ever, unasked(t)), "final")
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
