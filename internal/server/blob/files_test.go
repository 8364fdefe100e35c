package blob_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/archivefs/archivefs/internal/server/blob"
)

func open(t *testing.T, dir string) *blob.Files {
	t.Helper()
	files, err := blob.OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func digest(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

func read(t *testing.T, files *blob.Files, digest string) string {
	t.Helper()
	r, err := files.Open(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func keep(t *testing.T, files *blob.Files, content string) {
	t.Helper()
	staged, err := files.Stage(t.Context(), strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if err := files.Publish(t.Context(), staged); err != nil {
		t.Fatal(err)
	}
}

func wantStaged(t *testing.T, dir string, want int) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "incoming"))
	if err != nil || len(entries) != want {
		t.Errorf("%d staged, want %d, %v", len(entries), want, err)
	}
}

func TestContentsComeBack(t *testing.T) {
	dir := t.TempDir()
	files := open(t, dir)
	for _, content := range []string{"", "x", strings.Repeat("0123456789", 100_000), strings.Repeat("x", 1<<20), strings.Repeat("0123456789", 1_100_000)} {
		// One byte at a time and whole give the same.
		for _, r := range []io.Reader{strings.NewReader(content), iotest.HalfReader(strings.NewReader(content))} {
			staged, err := files.Stage(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if staged.Digest() != digest(content) || staged.Size() != int64(len(content)) {
				t.Errorf("%d bytes: digest %s, size %d", len(content), staged.Digest(), staged.Size())
			}
			before, err := io.ReadAll(io.NewSectionReader(staged, 0, staged.Size()))
			if err != nil || string(before) != content {
				t.Errorf("staged: %d bytes, %v", len(before), err)
			}
			if err := errors.Join(files.Publish(t.Context(), staged), files.Publish(t.Context(), staged), staged.Discard()); err != nil {
				t.Fatal(err)
			}
		}
		if got := read(t, files, digest(content)); got != content {
			t.Errorf("%d bytes came back as %d", len(content), len(got))
		}
		if got := read(t, open(t, dir), digest(content)); got != content {
			t.Errorf("opened again, %d bytes came back as %d", len(content), len(got))
		}
	}
	wantStaged(t, dir, 0)
}

func TestWhatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	files := open(t, dir)
	for _, cause := range []error{io.ErrUnexpectedEOF, errors.New("broken")} {
		for _, half := range []string{"half", strings.Repeat("half", 1_000_000)} {
			_, err := files.Stage(t.Context(), io.MultiReader(strings.NewReader(half), iotest.ErrReader(cause)))
			if !errors.Is(err, cause) {
				t.Errorf("%d bytes: got %v, want %v", len(half), err, cause)
			}
		}
	}
	staged, err := files.Stage(t.Context(), strings.NewReader("unwanted"))
	if err != nil {
		t.Fatal(err)
	}
	wantStaged(t, dir, 1)
	if err := errors.Join(staged.Discard(), staged.Discard(), files.Publish(t.Context(), staged)); err != nil {
		t.Fatal(err)
	}
	wantStaged(t, dir, 0)
	if _, err := files.Open(t.Context(), digest("unwanted")); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("discarded: %v", err)
	}
}

func TestOpeningSweepsWhatWasStaged(t *testing.T) {
	dir := t.TempDir()
	if _, err := open(t, dir).Stage(t.Context(), strings.NewReader("interrupted")); err != nil {
		t.Fatal(err)
	}
	wantStaged(t, dir, 1)
	open(t, dir)
	wantStaged(t, dir, 0)
}

func TestOnlyDigestsNameContents(t *testing.T) {
	dir := t.TempDir()
	files := open(t, dir)
	secret := filepath.Join(filepath.Dir(dir), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "x", "../secret", strings.Repeat("../", 21) + "x", strings.Repeat("z", 64), digest("absent")} {
		if _, err := files.Open(t.Context(), name); !errors.Is(err, blob.ErrMissing) {
			t.Errorf("open %q: %v", name, err)
		}
		if err := files.Remove(t.Context(), name); err != nil {
			t.Errorf("remove %q: %v", name, err)
		}
	}
	if _, err := os.Stat(secret); err != nil {
		t.Error(err)
	}
}

func TestRemovedContentsAreReadToTheEnd(t *testing.T) {
	files := open(t, t.TempDir())
	keep(t, files, "content")
	r, err := files.Open(t.Context(), digest("content"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if err := files.Remove(t.Context(), digest("content")); err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(r); err != nil || string(content) != "content" {
		t.Errorf("%q, %v", content, err)
	}
	if _, err := files.Open(t.Context(), digest("content")); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("removed: %v", err)
	}
}

func TestWalkShowsWhatIsKept(t *testing.T) {
	dir := t.TempDir()
	files := open(t, dir)
	for n := range 20 {
		keep(t, files, fmt.Sprint(n))
	}
	if err := os.WriteFile(filepath.Join(dir, digest("1")[:2], "README"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	walked := 0
	err := files.Walk(t.Context(), func(d string) error {
		if walked++; d == digest("7") {
			return nil
		}
		return files.Remove(t.Context(), d)
	})
	if err != nil || walked != 20 {
		t.Errorf("walked over %d, %v", walked, err)
	}
	if got := read(t, files, digest("7")); got != "7" {
		t.Errorf("kept %q", got)
	}
	for want, digests := range map[bool][]string{true: {digest("7")}, false: {digest("7"), digest("8")}} {
		if has, err := files.Has(t.Context(), digests...); err != nil || has != want {
			t.Errorf("%v are kept: %v, %v", digests, has, err)
		}
	}
	cause := errors.New("no database")
	if err := files.Walk(t.Context(), func(string) error { return cause }); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

func TestTheSameContentAtTheSameTime(t *testing.T) {
	files := open(t, t.TempDir())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			staged, err := files.Stage(t.Context(), strings.NewReader("same"))
			if err != nil {
				t.Error(err)
				return
			}
			if err := files.Publish(t.Context(), staged); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := read(t, files, digest("same")); got != "same" {
		t.Errorf("%q", got)
	}
}
