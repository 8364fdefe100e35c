package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/durable"
)

func TestWriteFileReplacesTheWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.json")
	for _, data := range []string{"a longer first version", "second", ""} {
		if err := durable.WriteFile(path, []byte(data), 0o640); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != data {
			t.Fatalf("read %q, %v; want %q", got, err, data)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Fatalf("mode %v, %v; want 0640", info.Mode(), err)
	}
	wantNames(t, filepath.Dir(path), "record.json")
}

func TestWriteFileLeavesNothingBehindOnError(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(target, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(target, []byte("x"), 0o600); err == nil {
		t.Fatal("a directory was replaced by a file")
	}
	wantNames(t, dir, "taken")

	err := durable.WriteFile(filepath.Join(dir, "absent", "f"), nil, 0o600)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v, want one that wraps fs.ErrNotExist", err)
	}
}

func TestPublishKeepsTheFileOpen(t *testing.T) {
	dir := t.TempDir()
	f, err := durable.CreateTemp(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !durable.IsTemp(filepath.Base(f.Name())) {
		t.Fatalf("%q is no temporary name", f.Name())
	}
	if _, err := f.WriteString("bytes"); err != nil {
		t.Fatal(err)
	}
	if err := durable.Publish(f, filepath.Join(dir, "name")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 5)
	if _, err := f.ReadAt(buf, 0); err != nil || string(buf) != "bytes" {
		t.Fatalf("read %q, %v", buf, err)
	}
	if cause := errors.New("later"); !errors.Is(durable.Discard(f, cause), cause) {
		t.Fatal("Discard did not return its cause")
	}
	wantNames(t, dir, "name")
}

func TestPublishAll(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	var files []durable.Named
	for _, name := range []string{"a", "b", "c"} {
		f, err := durable.CreateTemp(from)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		if _, err := f.WriteString(name); err != nil {
			t.Fatal(err)
		}
		files = append(files, durable.Named{File: f, Path: filepath.Join(to, name)})
	}
	if err := errors.Join(durable.PublishAll(nil), durable.PublishAll(files)); err != nil {
		t.Fatal(err)
	}
	wantNames(t, from)
	wantNames(t, to, "a", "b", "c")
	if got, err := os.ReadFile(filepath.Join(to, "b")); err != nil || string(got) != "b" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := durable.PublishAll(files); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want one that wraps fs.ErrNotExist", err)
	}
}

func TestRenameBetweenDirectories(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "a"), []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "b"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := durable.Rename(filepath.Join(from, "a"), filepath.Join(to, "b")); err != nil {
		t.Fatal(err)
	}
	wantNames(t, from)
	if got, err := os.ReadFile(filepath.Join(to, "b")); err != nil || string(got) != "new" {
		t.Fatalf("read %q, %v; want new", got, err)
	}
	if err := durable.Rename(filepath.Join(from, "a"), filepath.Join(to, "b")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v, want one that wraps fs.ErrNotExist", err)
	}
}

func TestSyncDirNamesAnAbsentDirectory(t *testing.T) {
	if err := durable.SyncDir(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if err := durable.SyncDir(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v, want one that wraps fs.ErrNotExist", err)
	}
}

func TestSweepRemovesTemporaryFilesAlone(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		f, err := durable.CreateTemp(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".tmp-directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.Sweep(dir); err != nil {
		t.Fatal(err)
	}
	wantNames(t, dir, ".tmp-directory", "kept")
	if err := durable.Sweep(filepath.Join(dir, "absent")); err != nil {
		t.Fatalf("absent directory: %v", err)
	}
}

// wantNames fails the test unless dir holds exactly the names, in order.
func wantNames(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(names) {
		t.Fatalf("%s holds %v, want %v", dir, entries, names)
	}
	for i, e := range entries {
		if e.Name() != names[i] {
			t.Fatalf("%s holds %v, want %v", dir, entries, names)
		}
	}
}

func TestMkdirAllMakesWhatIsMissing(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"a/b/c", "a/b/c", "a/b/d/", "."} {
		if err := durable.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
	wantNames(t, filepath.Join(top, "a", "b"), "c", "d")
	if err := os.WriteFile(filepath.Join(top, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := durable.MkdirAll(filepath.Join(top, "file", "x"), 0o700); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("below a file: %v, want ENOTDIR", err)
	}
	t.Chdir(top)
	if err := durable.MkdirAll("relative/dir", 0o700); err != nil {
		t.Errorf("a relative name: %v", err)
	}
}
