package cache_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

func TestContentIsDownloadedOnceAndSurvivesARestart(t *testing.T) {
	s := newShelf(t, 100)
	first := s.open(key(1), ever, whole("hello archive", `"e1"`))
	wantBytes(t, first, "hello archive")
	s.WaitIdle()
	second := s.open(key(1), ever, unasked(t))
	wantBytes(t, second, "hello archive")
	if first.Serial() != second.Serial() {
		t.Fatal("the serial changed, the content did not")
	}
	s.wantUsage(1, 13)

	s.restart()
	s.wantUsage(1, 13)
	wantBytes(t, s.open(key(1), ever, unasked(t)), "hello archive")
	if size, ok := s.Lookup(key(1)); !ok || size != 13 {
		t.Fatalf("Lookup: %d, %v", size, ok)
	}
	if _, ok := s.Lookup(cache.Key{Document: 1, Representation: archive.PDF}); ok {
		t.Fatal("Lookup found another representation")
	}
}

func TestContentFilesArePrivate(t *testing.T) {
	s := newShelf(t, 100)
	s.put(key(1), "secret")
	path := s.files()[0]
	for dir := filepath.Dir(path); dir != filepath.Dir(s.dir); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Fatalf("%s: mode %v, %v; want 0700", dir, info.Mode(), err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%s: mode %v, %v; want 0600", path, info.Mode(), err)
	}
}

func TestReaderKeepsTheRulesOfReaderAt(t *testing.T) {
	s := newShelf(t, 100)
	r := s.open(key(1), ever, whole("0123456789", ""))
	tests := map[string]struct {
		off  int64
		n    int
		want string
		err  error
	}{
		"start":         {0, 4, "0123", nil},
		"middle":        {3, 4, "3456", nil},
		"exact end":     {6, 4, "6789", nil},
		"over the end":  {8, 4, "89", io.EOF},
		"at the end":    {10, 4, "", io.EOF},
		"after the end": {99, 4, "", io.EOF},
		"nothing":       {99, 0, "", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			buf := make([]byte, tt.n)
			n, err := r.ReadAt(t.Context(), buf, tt.off)
			if string(buf[:n]) != tt.want || !errors.Is(err, tt.err) {
				t.Fatalf("got %q, %v; want %q, %v", buf[:n], err, tt.want, tt.err)
			}
		})
	}
	if _, err := r.ReadAt(t.Context(), make([]byte, 1), -1); err == nil {
		t.Fatal("a negative offset was read")
	}
}

func TestContentOfNoBytes(t *testing.T) {
	s := newShelf(t, 100)
	s.put(key(1), "")
	wantBytes(t, s.open(key(1), ever, unasked(t)), "")
	s.wantUsage(1, 0)
}

func TestReaderFollowsTheDownload(t *testing.T) {
	s := newShelf(t, 100)
	st := newStream(10)
	r := s.open(key(1), ever, st.fetch)
	if r.Size() != 10 || r.File() != nil {
		t.Fatalf("size %d, file %v; want 10 and no file yet", r.Size(), r.File())
	}
	if _, ok := s.Lookup(key(1)); ok {
		t.Fatal("half a content is shown as cached")
	}
	buf := make([]byte, 4)
	st.send("01234")
	if n, err := r.ReadAt(t.Context(), buf, 1); n != 4 || err != nil || string(buf) != "1234" {
		t.Fatalf("read %q, %v", buf, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.ReadAt(ctx, buf, 4); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v from bytes that are not there, want context.Canceled", err)
	}
	later := s.open(key(1), ever, unasked(t))
	st.send("56789")
	st.end()
	wantBytes(t, r, "0123456789")
	wantBytes(t, later, "0123456789")
	s.WaitIdle()
	if f := r.File(); f == nil {
		t.Fatal("no file of a complete content")
	} else if n, err := f.ReadAt(buf, 6); n != 4 || err != nil || string(buf) != "6789" {
		t.Fatalf("the file has %q, %v", buf, err)
	}
}

func TestOpenWaitsForALengthThatIsNotAnnounced(t *testing.T) {
	s := newShelf(t, 100)
	st := newStream(archive.SizeUnknown)
	opened := make(chan *cache.Reader)
	go func() { opened <- s.open(key(1), ever, st.fetch) }()
	st.send("some ")
	select {
	case <-opened:
		t.Fatal("opened before the length was known")
	default:
	}
	st.send("bytes")
	st.end()
	wantBytes(t, <-opened, "some bytes")
	s.WaitIdle()
	s.wantUsage(1, 10)
}

func TestContentManyReadersShareADownload(t *testing.T) {
	s := newShelf(t, 100)
	st := newStream(6)
	sv := script(st.fetch)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			r, err := s.Open(t.Context(), key(1), forever, sv.fetch)
			if err != nil {
				t.Error(err)
				return
			}
			wantBytes(t, r, "shared")
			_ = r.Close()
		})
	}
	st.send("sha")
	st.send("red")
	st.end()
	wg.Wait()
	if n := len(sv.asked()); n != 1 {
		t.Fatalf("%d requests, want 1", n)
	}
}

func TestContentFailuresAreNotRemembered(t *testing.T) {
	s := newShelf(t, 100)
	gone := &archive.Error{Op: "document/pdf", Kind: archive.KindNotFound}
	if _, err := s.Open(t.Context(), key(1), forever, refuse(gone)); !errors.Is(err, gone) {
		t.Fatalf("got %v, want one that wraps %v", err, gone)
	}
	for name, answer := range map[string]cache.Fetch{
		"not modified without a question": notModified,
		"another part":                    part(3, "x", 4, "", nil),
		"no body":                         func(context.Context, cache.Want) (*archive.Content, error) { return &archive.Content{}, nil },
	} {
		if _, err := s.Open(t.Context(), key(1), forever, answer); err == nil {
			t.Fatalf("%s: no error", name)
		}
	}
	s.put(key(1), "there")
	s.wantUsage(1, 5)
}

func TestContentCloseEndsDownloads(t *testing.T) {
	s := newShelf(t, 100)
	s.put(key(2), "kept")
	complete := s.open(key(2), ever, unasked(t))
	st := newStream(10)
	r := s.open(key(1), ever, st.fetch)
	st.send("0123456")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadAt(t.Context(), make([]byte, 10), 0); err == nil {
		t.Fatal("read bytes that never came")
	}
	wantBytes(t, complete, "kept")
	if _, err := s.Open(t.Context(), key(2), forever, unasked(t)); !errors.Is(err, os.ErrClosed) {
		t.Fatalf("got %v, want os.ErrClosed", err)
	}
	_ = r.Close()
	s.wantUsage(1, 4)
}

func TestContentIsValidatedByItsETag(t *testing.T) {
	s := newShelf(t, 100)
	s.open(key(1), time.Minute, whole("first", `"e1"`))
	s.WaitIdle()
	s.advance(time.Minute)
	old := s.open(key(1), time.Minute, unasked(t)) // just young enough
	s.advance(time.Second)

	same := script(notModified)
	r := s.open(key(1), time.Minute, same.fetch)
	wantBytes(t, r, "first")
	if got := same.asked(); len(got) != 1 || got[0] != (cache.Want{NoneMatch: `"e1"`}) {
		t.Fatalf("asked for %+v", got)
	}
	if r.Serial() != old.Serial() {
		t.Fatal("the serial changed, the content did not")
	}
	s.restart()
	s.advance(time.Minute)
	s.open(key(1), time.Minute, unasked(t)) // the validation counts, also after a restart
	s.advance(time.Second)

	changed := s.open(key(1), time.Minute, whole("second version", `"e2"`))
	wantBytes(t, changed, "second version")
	wantBytes(t, old, "first")
	if changed.Serial() == old.Serial() {
		t.Fatal("the content changed, the serial did not")
	}
	s.WaitIdle()
	wantBytes(t, s.open(key(1), time.Minute, unasked(t)), "second version")
}

func TestContentWithoutETagIsFetchedAgain(t *testing.T) {
	s := newShelf(t, 100)
	s.put(key(1), "old")
	s.advance(time.Second)
	sv := script(whole("new", ""))
	wantBytes(t, s.open(key(1), 0, sv.fetch), "new")
	if got := sv.asked(); got[0] != (cache.Want{}) {
		t.Fatalf("asked for %+v", got)
	}
	s.WaitIdle()
	s.wantUsage(1, 3)
}

func TestContentThatCannotBeValidatedIsAnError(t *testing.T) {
	s := newShelf(t, 100)
	s.put(key(1), "old")
	s.advance(time.Second)
	if _, err := s.Open(t.Context(), key(1), cache.Trust{}, refuse(away)); !errors.Is(err, away) {
		t.Fatalf("got %v, want one that wraps %v", err, away)
	}
	wantBytes(t, s.open(key(1), ever, unasked(t)), "old")
}

// Trusted tells a length exactly when Open would not ask the service.
func TestTrustedIsWhatOpenDoesNotAskFor(t *testing.T) {
	s := newShelf(t, 100)
	if size, ok := s.Trusted(key(1), forever); ok {
		t.Fatalf("%d bytes of nothing", size)
	}
	s.put(key(1), "four")
	for _, step := range []struct {
		age   time.Duration
		trust cache.Trust
		want  bool
	}{
		{0, cache.Trust{MaxAge: time.Minute}, true},
		{time.Minute, cache.Trust{MaxAge: time.Minute}, true},
		{time.Second, cache.Trust{MaxAge: time.Minute}, false},
		{0, forever, true},
		{0, cache.Trust{Print: forever.Print + 1, MaxAge: time.Hour}, false},
	} {
		s.advance(step.age)
		if size, ok := s.Trusted(key(1), step.trust); ok != step.want || ok && size != 4 {
			t.Errorf("after %v more, trusted for %v: %d, %v", step.age, step.trust, size, ok)
		}
	}
}

// A content is trusted as long as lists say the same of its document; then it is validated, and trusted again.
// One that was uploaded from here is that of the first list that shows it, in a later process, too.
func TestTrustedAsLongAsTheListingIsTheSame(t *testing.T) {
	s := newShelf(t, 100)
	open := func(of archive.Fingerprint, fetch cache.Fetch) string {
		t.Helper()
		r, err := s.Open(t.Context(), key(1), cache.Trust{Print: of}, fetch)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close() //nolint:errcheck // read only
		b := make([]byte, r.Size())
		if _, err := r.ReadAt(t.Context(), b, 0); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return string(b)
	}
	if err := s.Adopt(key(1), cache.Adoption{Path: spooled(t, "ours"), ETag: `"e1"`, Print: archive.Unlisted}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		about string
		of    archive.Fingerprint
		fetch cache.Fetch
		want  string
	}{
		{"not listed yet", archive.Unlisted, unasked(t), "ours"},
		{"listed", 7, unasked(t), "ours"},
		{"with another date", 8, notModified, "ours"},
		{"the same", 8, unasked(t), "ours"},
		{"with more pages", 9, whole("longer", `"e2"`), "longer"},
		{"the same again", 9, unasked(t), "longer"},
	} {
		if got := open(step.of, step.fetch); got != step.want {
			t.Errorf("%s: %q, want %q", step.about, got, step.want)
		}
		s.restart()
	}
}

// What was uploaded and not read before a list showed it is not trusted once a list shows something else.
func TestListedOnceAndThenChanged(t *testing.T) {
	s := newShelf(t, 100)
	if err := s.Adopt(key(1), cache.Adoption{Path: spooled(t, "ours"), Print: archive.Unlisted}); err != nil {
		t.Fatal(err)
	}
	s.Kept.Listed(1, archive.Unlisted, 7)
	for of, want := range map[archive.Fingerprint]bool{7: true, 8: false} {
		if _, ok := s.Trusted(key(1), cache.Trust{Print: of}); ok != want {
			t.Errorf("listed as %d it is trusted: %v", of, ok)
		}
	}
	s.Kept.Listed(1, 7, 8)
	if _, ok := s.Trusted(key(1), cache.Trust{MaxAge: time.Hour}); ok {
		t.Error("what is in doubt is trusted")
	}
}

// What is open is read while a list says something else of its document.
func TestListedWhileItIsRead(t *testing.T) {
	s := newShelf(t, 100)
	if err := s.Adopt(key(1), cache.Adoption{Path: spooled(t, "ours"), Print: archive.Unlisted}); err != nil {
		t.Fatal(err)
	}
	r, err := s.Open(t.Context(), key(1), cache.Trust{Print: archive.Unlisted}, unasked(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // read only
	var listed sync.WaitGroup
	listed.Go(func() { s.Kept.Listed(1, archive.Unlisted, 7) })
	if r.Size() != 4 || r.Key() != key(1) { // the race detector looks
		t.Errorf("%s has %d bytes", r.Key(), r.Size())
	}
	listed.Wait()
}
