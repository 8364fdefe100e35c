package blob_test

import (
	"io"
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

func TestStagedFilesAreSweptAlone(t *testing.T) {
	dir := t.TempDir()
	stage(t, openFiles(t, dir), "interrupted")
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
	staged := stage(t, one, "on its way")
	stage(t, one, "abandoned")
	found, err := filepath.Glob(filepath.Join(dir, "incoming", "*"))
	if err != nil || len(found) != 2 {
		t.Fatalf("%q, %v", found, err)
	}
	for _, path := range found {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if old := time.Now().Add(-25 * time.Hour); string(content) == "abandoned" {
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
	if got := read(t, other, digest("on its way")); got != "on its way" {
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
