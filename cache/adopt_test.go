package cache_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/cache"
)

// spooled returns a file with data, as an upload leaves it.
func spooled(t *testing.T, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil { // Adopt makes it private
		t.Fatal(err)
	}
	return path
}

func TestAdopt(t *testing.T) {
	s := newShelf(t, 100)
	s.put(key(1), "before")
	old := s.open(key(1), ever, unasked(t))
	path := spooled(t, "as uploaded")
	if err := s.Adopt(key(1), cache.Adoption{Path: path, ETag: `"e1"`, Print: forever.Print}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil { // it is the caller's
		t.Fatal(err)
	}
	r := s.open(key(1), ever, unasked(t))
	wantBytes(t, r, "as uploaded")
	wantBytes(t, old, "before")
	if r.Serial() == old.Serial() {
		t.Fatal("the serial did not change")
	}
	_ = old.Close()
	s.wantUsage(1, 11)
	if info, err := os.Stat(s.files()[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v; want 0600", info.Mode(), err)
	}

	s.restart()
	wantBytes(t, s.open(key(1), ever, unasked(t)), "as uploaded")
	s.advance(time.Hour)
	sv := script(notModified)
	wantBytes(t, s.open(key(1), time.Minute, sv.fetch), "as uploaded")
	if got := sv.asked(); got[0] != (cache.Want{NoneMatch: `"e1"`}) {
		t.Fatalf("asked for %+v", got[0])
	}
}

func TestAdoptWinsOverADownloadUnderWay(t *testing.T) {
	s := newShelf(t, 100)
	st := newStream(10)
	r := s.open(key(1), ever, st.fetch)
	st.send("01234")
	if err := s.Adopt(key(1), cache.Adoption{Path: spooled(t, "ours"), Print: forever.Print}); err != nil {
		t.Fatal(err)
	}
	st.send("56789")
	st.end()
	wantBytes(t, r, "0123456789")
	s.WaitIdle()
	wantBytes(t, s.open(key(1), ever, unasked(t)), "ours")
}

func TestAdoptMakesRoom(t *testing.T) {
	s := newShelf(t, 20)
	s.put(key(1), "0123456789")
	s.put(key(2), "0123456789")
	if err := s.Adopt(key(3), cache.Adoption{Path: spooled(t, "01234"), Print: forever.Print}); err != nil {
		t.Fatal(err)
	}
	s.wantCached(2, 3)
	s.wantUsage(2, 15)
}

func TestAdoptRefusals(t *testing.T) {
	s := newShelf(t, 10)
	s.put(key(1), "before")
	large, directory := spooled(t, "0123456789a"), t.TempDir()
	if err := s.Adopt(key(1), cache.Adoption{Path: large, Print: forever.Print}); !errors.Is(err, cache.ErrTooLarge) {
		t.Fatalf("got %v, want ErrTooLarge", err)
	}
	if err := s.Adopt(key(1), cache.Adoption{Path: directory, Print: forever.Print}); err == nil {
		t.Fatal("a directory was adopted")
	}
	if err := s.Adopt(key(1), cache.Adoption{Path: filepath.Join(directory, "absent"), Print: forever.Print}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v, want one that wraps fs.ErrNotExist", err)
	}
	for _, path := range []string{large, directory} {
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
	}
	wantBytes(t, s.open(key(1), ever, unasked(t)), "before")
}

func TestCopyFileFromAnotherFileSystem(t *testing.T) {
	path, dir := spooled(t, "bytes"), t.TempDir()
	target := filepath.Join(dir, "target")
	if err := cache.CopyFile(path, target); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(target)
	if err != nil || string(got) != "bytes" {
		t.Fatalf("read %q, %v", got, err)
	}
	if err := cache.CopyFile(path, filepath.Join(dir, "absent", "target")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v, want one that wraps fs.ErrNotExist", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Fatalf("left are %v, %v; want the target alone", entries, err)
	}
}

// The hash that the caller knows is kept: a file that is another one is found out later.
func TestAdoptTrustsTheCallersHash(t *testing.T) {
	s := newShelf(t, 100)
	sum := sha256.Sum256([]byte("as uploaded"))
	if err := s.Adopt(key(1), cache.Adoption{Path: spooled(t, "as uploaded"), Sum: hex.EncodeToString(sum[:]), Print: forever.Print}); err != nil {
		t.Fatal(err)
	}
	if err := s.Adopt(key(2), cache.Adoption{Path: spooled(t, "damaged"), Sum: hex.EncodeToString(sum[:]), Print: forever.Print}); err != nil {
		t.Fatal(err)
	}
	s.restart()
	wantBytes(t, s.open(key(1), ever, unasked(t)), "as uploaded")
	wantBytes(t, s.open(key(2), ever, script(part(0, "fetched again", 13, "", nil)).fetch), "fetched again")
}

func TestAdoptedFilesArePrivate(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o644} {
		s := newShelf(t, 100)
		path := filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(path, []byte("0123456789"), mode); err != nil {
			t.Fatal(err)
		}
		if err := s.Adopt(key(1), cache.Adoption{Path: path, Print: forever.Print}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(s.files()[0])
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("a file of mode %v has %v, %v in the cache", mode, info.Mode(), err)
		}
	}
}

// What is adopted from a reader is in a file at once, so a crash of the machine can leave any bytes of that.
func TestABodyThatACrashTore(t *testing.T) {
	const content = "as uploaded"
	for name, torn := range map[string]string{"shorter": "as up", "zeros": strings.Repeat("\x00", len(content))} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t, 100)
			body := cache.Adoption{Body: strings.NewReader(content), Size: int64(len(content)), Print: forever.Print}
			if err := s.Adopt(key(1), body); err != nil {
				t.Fatal(err)
			}
			wantBytes(t, s.open(key(1), ever, unasked(t)), content)
			s.restart()
			if err := os.WriteFile(s.files()[0], []byte(torn), 0o600); err != nil {
				t.Fatal(err)
			}
			s.restart()
			sv := script(whole("from the service", ""))
			wantBytes(t, s.open(key(1), ever, sv.fetch), "from the service")
		})
	}
}
