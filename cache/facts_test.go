package cache_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

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
	if size, ok := f.Size(key); !ok || size != want {
		t.Fatalf("%v: got %d, %v; want %d", key, size, ok, want)
	}
}

func wantNoSize(t *testing.T, f *cache.Facts, key cache.Key) {
	t.Helper()
	if size, ok := f.Size(key); ok {
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
	f.Learn(original, 100)
	f.Learn(pdf, 200)
	f.Learn(empty, 0)
	f.Learn(original, 1<<40)
	f.Learn(pdf, archive.SizeUnknown)
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

func TestFactsWriteManyInBatches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sizes.db")
	f := openFacts(t, path)
	const n = 2000
	for i := range archive.ID(n) {
		f.Learn(cache.Key{Document: i, Representation: archive.Original}, int64(i)*3)
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
	path := filepath.Join(t.TempDir(), "sizes.db")
	garbage := make([]byte, 64<<10)
	for i := range garbage {
		garbage[i] = byte(i*7 + 1)
	}
	if err := os.WriteFile(path, garbage, 0o600); err != nil {
		t.Fatal(err)
	}
	f := openFacts(t, path)
	key := cache.Key{Document: 1, Representation: archive.PDF}
	wantNoSize(t, f, key)
	f.Learn(key, 5)
	wantSize(t, f, key, 5)
}

func TestFactsNameAFileThatCannotBeOpened(t *testing.T) {
	if _, err := cache.OpenFacts(t.TempDir()); err == nil {
		t.Fatal("opened a directory")
	}
}
