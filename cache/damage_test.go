package cache_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

func TestDamagedFilesAreFetchedAgain(t *testing.T) {
	tests := map[string]struct {
		damage  func(t *testing.T, path string)
		restart bool
	}{
		"a bit has flipped": {func(t *testing.T, path string) { overwrite(t, path, "0123x56789") }, true},
		"cut off":           {func(t *testing.T, path string) { overwrite(t, path, "0123") }, true},
		"cut off, running":  {func(t *testing.T, path string) { overwrite(t, path, "0123") }, false},
		"gone, running": {func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t, 100)
			s.putTagged(key(1), "0123456789", `"e1"`)
			tt.damage(t, s.files()[0])
			if tt.restart {
				s.restart()
			}
			s.advance(time.Hour) // so that it would be validated
			sv := script(whole("0123456789", `"e1"`))
			wantBytes(t, s.open(key(1), time.Minute, sv.fetch), "0123456789")
			if got := sv.asked(); got[0] != (cache.Want{}) {
				t.Fatalf("asked for %+v, want all of it", got[0])
			}
			s.WaitIdle()
			s.wantUsage(1, 10)
		})
	}
}

func TestDamageIsFoundWithoutAskingTheService(t *testing.T) {
	s := newShelf(t, 100)
	s.put(key(1), "0123456789")
	overwrite(t, s.files()[0], "9876543210")
	s.restart()
	wantBytes(t, s.open(key(1), ever, whole("0123456789", "")), "0123456789")
	if got := s.Stats().Damaged; got != 1 {
		t.Fatalf("%d damaged, want 1", got)
	}
}

func TestFileCutOffUnderAReaderIsAnError(t *testing.T) {
	s := newShelf(t, 100)
	s.put(key(1), "0123456789")
	r := s.open(key(1), ever, unasked(t))
	overwrite(t, s.files()[0], "0123")
	if n, err := r.ReadAt(t.Context(), make([]byte, 10), 0); err == nil {
		t.Fatalf("read %d bytes of ten without an error", n)
	}
}

func TestStartRemovesWhatIsNoContent(t *testing.T) {
	s := newShelf(t, 100)
	s.put(key(1), "0123456789")
	s.put(key(2), "kept")
	good := s.files()
	shard := filepath.Dir(good[0])
	elsewhere := filepath.Join(s.dir, "zz")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		filepath.Join(shard, ".tmp-12345"),
		filepath.Join(shard, "note.txt"),
		filepath.Join(shard, "v2"+strings.TrimPrefix(filepath.Base(good[0]), "v3")),
		filepath.Join(elsewhere, filepath.Base(good[0])),
	} {
		overwrite(t, path, "0123456789")
	}
	s.restart()
	s.wantUsage(2, 14)
	wantBytes(t, s.open(key(1), ever, unasked(t)), "0123456789")
	wantBytes(t, s.open(key(2), ever, unasked(t)), "kept")
}

func TestStartKeepsTheNewerOfTwoVersions(t *testing.T) {
	s := newShelf(t, 100)
	s.put(key(1), "old")
	old := s.files()[0]
	s.advance(time.Minute)
	s.Remove(key(1))
	s.put(key(1), "newer")
	overwrite(t, old, "old") // as a crash before its removal leaves it
	s.restart()
	s.wantUsage(1, 5)
	wantBytes(t, s.open(key(1), ever, unasked(t)), "newer")
}

func TestETagThatDoesNotFitIsNotKept(t *testing.T) {
	s := newShelf(t, 100)
	s.putTagged(key(-1<<63), "x", `"`+strings.Repeat("e", 300)+`"`)
	s.restart()
	s.advance(time.Hour)
	sv := script(whole("y", ""))
	r := s.open(key(-1<<63), time.Minute, sv.fetch)
	wantBytes(t, r, "y")
	_ = r.Close()
	s.WaitIdle()
	if got := sv.asked(); got[0] != (cache.Want{}) {
		t.Fatalf("asked for %+v", got[0])
	}
	s.advance(time.Hour)
	s.putTagged(key(-1<<63), "z", `"`+strings.Repeat("e", 88)+`"`) // the longest that fits
	s.wantUsage(1, 1)
}

func FuzzFileName(f *testing.F) {
	f.Add("v4.4711.original.5.1714046400000000000.7.s47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU.ABCDEFGH.ImUxIg")
	f.Add("v3.-1.pdf.0.0.draft.c00000000..")
	f.Add("v3.7.pdf.0.0.draft...")
	f.Add("v3.01.pdf.0.0.draft.x..")
	f.Fuzz(func(t *testing.T, name string) {
		if again, err := cache.ParseFileName(name); err == nil && again != name {
			t.Fatalf("%q became %q", name, again)
		}
	})
}

// overwrite replaces the bytes of the file in place.
func overwrite(t *testing.T, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// zeros is a body of so many zero bytes.
func zeros(n int64) cache.Fetch {
	return func(context.Context, cache.Want) (*archive.Content, error) {
		return &archive.Content{Body: io.NopCloser(io.LimitReader(zeroReader{}, n)), Size: n}, nil
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestLargeFilesAreKeptWithoutACheck(t *testing.T) {
	const size = 64<<20 + 1 // 67108865
	s := newShelf(t, 2*size)
	s.open(key(1), ever, zeros(size))
	s.open(key(2), ever, zeros(size-1))
	s.WaitIdle()
	for _, path := range s.files() {
		checked := !strings.Contains(path, ".7..")
		if large := strings.Contains(path, ".67108865."); checked == large {
			t.Errorf("%s: check in the name: %v", filepath.Base(path), checked)
		}
	}
	s.restart()
	r := s.open(key(1), ever, unasked(t))
	if r.Size() != size || r.File() == nil {
		t.Fatalf("%d bytes, want a file of %d", r.Size(), size)
	}
}
