package cache_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// printed is the fingerprint of the documents of the tests.
const printed archive.Fingerprint = 7

func openFacts(t *testing.T, path string) *cache.Facts {
	t.Helper()
	f, err := cache.OpenFacts(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func wantSize(t *testing.T, f *cache.Facts, key cache.Key, want int64) {
	t.Helper()
	if size, ok := f.Size(key, printed); !ok || size != want {
		t.Fatalf("%v: got %d, %v; want %d", key, size, ok, want)
	}
}

func wantNoSize(t *testing.T, f *cache.Facts, key cache.Key) {
	t.Helper()
	if size, ok := f.Size(key, printed); ok {
		t.Fatalf("%v: got %d, want nothing", key, size)
	}
}

func TestFactsSurviveARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sizes.db")
	original := cache.Key{Document: 7, Representation: archive.Original}
	pdf := cache.Key{Document: 7, Representation: archive.PDF}
	empty := cache.Key{Document: -3, Representation: archive.Data}

	f := openFacts(t, path)
	wantNoSize(t, f, original)
	f.Learn(original, printed, 100)
	f.Learn(pdf, printed, 200)
	f.Learn(empty, printed, 0)
	f.Learn(original, printed, 1<<40)
	f.Learn(pdf, printed, archive.SizeUnknown)
	wantSize(t, f, original, 1<<40) // before it is written
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	f = openFacts(t, path)
	wantSize(t, f, original, 1<<40)
	wantSize(t, f, pdf, 200)
	wantSize(t, f, empty, 0)
	f.Forget(pdf)
	wantNoSize(t, f, pdf)
	wantSize(t, f, original, 1<<40)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	wantNoSize(t, openFacts(t, path), pdf)

	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

// A length is known for as long as lists say the same of the document. What was learned before a list showed
// it belongs to the first list.
func TestFactsOfADocumentThatChanged(t *testing.T) {
	f := openFacts(t, filepath.Join(t.TempDir(), "sizes.db"))
	key := cache.Key{Document: 7, Representation: archive.Original}
	f.Learn(key, archive.Unlisted, 5)
	wantSize(t, f, key, 5)
	if size, ok := f.Size(key, printed+1); ok {
		t.Errorf("listed otherwise it still has %d bytes", size)
	}
	f.Learn(key, printed+1, 6)
	wantNoSize(t, f, key)
	if size, ok := f.Size(key, printed+1); !ok || size != 6 {
		t.Errorf("got %d, %v; want 6", size, ok)
	}
}

func TestFactsWriteManyInBatches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sizes.db")
	f := openFacts(t, path)
	const n = 2000
	for i := range archive.ID(n) {
		f.Learn(cache.Key{Document: i, Representation: archive.Original}, printed, int64(i)*3)
	}
	for i := range archive.ID(n) {
		wantSize(t, f, cache.Key{Document: i, Representation: archive.Original}, int64(i)*3)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openFacts(t, path)
	for i := range archive.ID(n) {
		wantSize(t, f, cache.Key{Document: i, Representation: archive.Original}, int64(i)*3)
	}
}

func TestFactsReplaceABrokenFile(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sizes.db")
			key := cache.Key{Document: 1, Representation: archive.PDF}
			f := openFacts(t, path)
			for i := range archive.ID(5000) {
				f.Learn(cache.Key{Document: i, Representation: archive.PDF}, printed, 3)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, path)
			f = openFacts(t, path)
			wantNoSize(t, f, key)
			f.Learn(key, printed, 5)
			wantSize(t, f, key, 5)
		})
	}
}

// damages are what may have happened to a database.
var damages = map[string]func(t *testing.T, path string){
	"another file": func(t *testing.T, path string) {
		garbage := make([]byte, 64<<10)
		for i := range garbage {
			garbage[i] = byte(i*7 + 1)
		}
		if err := os.WriteFile(path, garbage, 0o600); err != nil {
			t.Fatal(err)
		}
	},
	"a short file":                 func(t *testing.T, path string) { cutOff(t, path, 100) },
	"cut off after the first page": func(t *testing.T, path string) { cutOff(t, path, int64(os.Getpagesize())) },
	"cut off after two pages":      func(t *testing.T, path string) { cutOff(t, path, 2*int64(os.Getpagesize())) },
	"all pages but the first two are another file's": func(t *testing.T, path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 2 * os.Getpagesize(); i < len(b); i++ {
			b[i] = byte(i*7 + 1)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	},
	"the pages that name its buckets are empty": func(t *testing.T, path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		page := os.Getpagesize()
		for _, meta := range [][]byte{b[:page], b[page:]} {
			root := int(binary.NativeEndian.Uint64(meta[32:])) * page // after the header of the page, and what identifies the file
			clear(b[root : root+page])
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	},
}

func cutOff(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

func TestFactsNameAFileThatCannotBeOpened(t *testing.T) {
	if _, err := cache.OpenFacts(t.TempDir()); err == nil {
		t.Fatal("opened a directory")
	}
}
