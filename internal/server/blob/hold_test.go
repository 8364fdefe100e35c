package blob_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server/blob"
)

func hold(t *testing.T, dir string) *blob.Hold {
	t.Helper()
	h, err := blob.HoldFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// wantHeld fails unless a content can be read through the hold.
func wantHeld(t *testing.T, h *blob.Hold, content string) {
	t.Helper()
	file, err := h.Open(t.Context(), digest(content))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if got, err := io.ReadAll(file); err != nil || string(got) != content {
		t.Errorf("%q, %v", got, err)
	}
}

func TestHeldContentsCanBeRead(t *testing.T) {
	dir := t.TempDir()
	files := openFiles(t, dir)
	keep(t, files, "kept", "removed", "again")
	h := hold(t, dir)
	for _, content := range []string{"removed", "again", "again"} {
		if err := files.Remove(t.Context(), digest(content)); err != nil {
			t.Fatal(err)
		}
	}
	wantMissing(t, files, "removed")
	keep(t, files, "again", "new")
	for _, content := range []string{"kept", "removed", "again", "new"} {
		wantHeld(t, h, content)
	}
	if _, err := h.Open(t.Context(), digest("nothing")); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("got %v", err)
	}
	if walked := walk(t, files, time.Now().Add(time.Hour)); len(walked) != 3 {
		t.Errorf("%d contents are kept, want 3", len(walked))
	}
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "held")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the hold: %v", err)
	}
	if got := read(t, files, digest("again")); got != "again" {
		t.Errorf("%q", got)
	}
}

func TestOneHoldAtATime(t *testing.T) {
	dir := t.TempDir()
	openFiles(t, dir)
	h := hold(t, dir)
	if _, err := blob.HoldFiles(dir); err == nil || !strings.Contains(err.Error(), "another backup is under way") {
		t.Errorf("held twice: %v", err)
	}
	openFiles(t, dir) // a service that starts leaves it
	if _, err := os.Stat(filepath.Join(dir, "held")); err != nil {
		t.Error(err)
	}
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
	if err := hold(t, dir).Release(); err != nil {
		t.Fatal(err)
	}
}

// The next removal, start or backup cleans up after a killed backup.
func TestAHoldThatWasKilled(t *testing.T) {
	for name, next := range map[string]func(t *testing.T, dir string, files *blob.Files){
		"removal": func(t *testing.T, _ string, files *blob.Files) {
			if err := files.Remove(t.Context(), digest("kept")); err != nil {
				t.Fatal(err)
			}
			wantMissing(t, files, "kept")
		},
		"start": func(t *testing.T, dir string, _ *blob.Files) { openFiles(t, dir) },
		"backup": func(t *testing.T, dir string, _ *blob.Files) {
			if err := hold(t, dir).Release(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := openFiles(t, dir)
			keep(t, files, "kept")
			left := filepath.Join(dir, "held", digest("removed"))
			if err := errors.Join(os.Mkdir(filepath.Dir(left), 0o700), os.WriteFile(left, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			next(t, dir, files)
			if _, err := os.Stat(filepath.Dir(left)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it is still there: %v", err)
			}
		})
	}
}

func TestHoldingWhileContentsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	files := openFiles(t, dir)
	var wg sync.WaitGroup
	ended := make(chan struct{})
	defer func() {
		close(ended)
		wg.Wait()
	}()
	for _, content := range []string{"a", "b", "c"} {
		wg.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				keep(t, files, content)
				if err := files.Remove(t.Context(), digest(content)); err != nil {
					t.Error(err)
				}
				if _, err := files.Open(t.Context(), digest(content)); !errors.Is(err, blob.ErrMissing) {
					t.Errorf("removed: %v", err)
				}
			}
		})
	}
	for range 20 {
		keep(t, files, "kept")
		h := hold(t, dir)
		if err := files.Remove(t.Context(), digest("kept")); err != nil {
			t.Fatal(err)
		}
		wantHeld(t, h, "kept")
		if err := h.Release(); err != nil {
			t.Fatal(err)
		}
		wantMissing(t, files, "kept")
	}
}

// Two removals that both take the directory for an abandoned one remove it once: the second one does
// not remove the directory of a hold that has begun meanwhile.
func TestAHoldIsNotSweptByRemovals(t *testing.T) {
	dir := t.TempDir()
	files := openFiles(t, dir)
	var wg sync.WaitGroup
	ended := make(chan struct{})
	defer func() {
		close(ended)
		wg.Wait()
	}()
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				if err := files.Remove(t.Context(), digest("never kept")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 500 {
		h := hold(t, dir)
		for range 20 {
			if _, err := os.Stat(filepath.Join(dir, "held")); err != nil {
				t.Fatal("it is held: ", err)
			}
		}
		if err := h.Release(); err != nil {
			t.Fatal(err)
		}
	}
}
