package blob_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server/blob"
)

func openFiles(t *testing.T, dir string) *blob.Files {
	t.Helper()
	files, err := blob.OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func entries(t *testing.T, dir string) int {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// inFile makes a text so long that it is not staged in memory.
func inFile(text string) string { return strings.Repeat(text, 100_000) }

func TestStagedFilesAreSweptAlone(t *testing.T) {
	dir := t.TempDir()
	stage(t, openFiles(t, dir), inFile("interrupted"))
	if n := entries(t, filepath.Join(dir, "incoming")); n != 1 {
		t.Errorf("%d staged, want 1", n)
	}
	secret := filepath.Join(filepath.Dir(dir), "secret")
	for _, path := range []string{secret, filepath.Join(dir, "README")} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := openFiles(t, dir)
	if err := files.Remove(t.Context(), "../secret"); err != nil {
		t.Error(err)
	}
	if found := walk(t, files, time.Now().Add(time.Hour)); len(found) != 0 {
		t.Errorf("walked over %q", found)
	}
	for _, path := range []string{secret, filepath.Join(dir, "README")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// Staged files of another process are left alone, unless they are abandoned.
func TestSharedFiles(t *testing.T) {
	dir := t.TempDir()
	shared := func() *blob.Files {
		files, err := blob.OpenSharedFiles(dir)
		if err == nil {
			err = files.Claim(t.Context(), "mine")
		}
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	one := shared()
	staged := stage(t, one, inFile("on its way"))
	stage(t, one, inFile("abandoned"))
	found, err := filepath.Glob(filepath.Join(dir, "incoming", "*"))
	if err != nil || len(found) != 2 {
		t.Fatalf("%q, %v", found, err)
	}
	for _, path := range found {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if old := time.Now().Add(-25 * time.Hour); string(content) == inFile("abandoned") {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := shared()
	if n := entries(t, filepath.Join(dir, "incoming")); n != 1 {
		t.Errorf("%d staged, want 1", n)
	}
	if err := one.Publish(t.Context(), staged); err != nil {
		t.Fatal(err)
	}
	if got := read(t, other, digest(inFile("on its way"))); got != inFile("on its way") {
		t.Errorf("%d bytes", len(got))
	}
}

// Small contents stay in memory until they are published, but not any number of them.
func TestSmallContentsAreStagedInMemory(t *testing.T) {
	dir := t.TempDir()
	files := openFiles(t, dir)
	for round := range 2 {
		var staged []blob.Staged
		for i := range 70 {
			staged = append(staged, stage(t, files, fmt.Sprint("content ", i, " of ", round)))
		}
		if n := entries(t, filepath.Join(dir, "incoming")); n != 70-64 {
			t.Errorf("%d contents are in files, want those beyond 64", n)
		}
		if err := files.Publish(t.Context(), staged...); err != nil {
			t.Fatal(err)
		}
		for i, s := range staged {
			want := fmt.Sprint("content ", i, " of ", round)
			before, err := io.ReadAll(io.NewSectionReader(s, 0, s.Size()))
			if err != nil || string(before) != want || read(t, files, s.Digest()) != want {
				t.Errorf("content %d is %q, %v", i, before, err)
			}
			if err := s.Discard(); err != nil {
				t.Error(err)
			}
			if n, err := s.ReadAt(make([]byte, 1), 0); n != 0 || !errors.Is(err, fs.ErrClosed) {
				t.Errorf("after Discard %d bytes, %v", n, err)
			}
		}
	}
}

// What a killed process was about to publish is removed by the one whose contents they are.
func TestWalkRemovesWhatWasHalfPublished(t *testing.T) {
	dir := t.TempDir()
	files := openFiles(t, dir)
	keep(t, files, "content")
	half := filepath.Join(dir, digest("content")[:2], ".tmp-half")
	if err := os.WriteFile(half, []byte("ha"), 0o600); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	for _, test := range []struct {
		files  *blob.Files
		before time.Time
		left   int
	}{{files, time.Now().Add(-time.Hour), 2}, {blob.ViewFiles(dir), later, 2}, {files, later, 1}} {
		walk(t, test.files, test.before)
		if n := entries(t, filepath.Dir(half)); n != test.left {
			t.Errorf("%d files are left, want %d", n, test.left)
		}
	}
	if got := read(t, files, digest("content")); got != "content" {
		t.Errorf("%q", got)
	}
}

func TestRemovedContentsAreReadToTheEnd(t *testing.T) {
	files := openFiles(t, t.TempDir())
	content := strings.Repeat("content", 100_000)
	keep(t, files, content)
	r, err := files.Open(t.Context(), digest(content))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if err := files.Remove(t.Context(), digest(content)); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != content {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	wantMissing(t, files, content)
}
