package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/journal"
	"github.com/archivefs/archivefs/internal/server/store"
)

var errRow = errors.New("the row cannot be written")

// brokenCatalog fails between the content and its row; before it does, it takes an image
// of the data directory, as a crash at this moment would leave it.
type brokenCatalog struct {
	wholeArchive
	image func()
}

func (c brokenCatalog) AddDocuments(context.Context, []store.Document, bool) ([]archive.ID, error) {
	c.image()
	return nil, errRow
}

func TestCrashBetweenContentAndRow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	data, image := t.TempDir(), t.TempDir()
	s, err := Open(ctx, Options{Data: data, LogSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := s.AddMandator(ctx, "M")
	if err != nil {
		t.Fatal(err)
	}
	add := func(s *Server, content string) error {
		_, err := s.AddDocument(ctx, NewDocument{Folder: folder, Name: "d", Created: time.Now(), Archived: time.Now()}, strings.NewReader(content))
		return err
	}
	if err := add(s, "safe"); err != nil {
		t.Fatal(err)
	}
	working := s.catalog
	s.catalog = brokenCatalog{wholeArchive: working, image: func() {
		awaitContent(t, data, "lost")
		if err := os.CopyFS(image, os.DirFS(data)); err != nil {
			t.Error(err)
		}
	}}
	if err := add(s, "lost"); !errors.Is(err, errRow) {
		t.Fatalf("got %v", err)
	}
	s.catalog = working
	wantContents(t, data, 1)
	if err := add(s, "lost"); err != nil {
		t.Errorf("after the failure: %v", err)
	}
	wantContents(t, data, 2)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(image, "contents", "incoming", ".tmp-half"), []byte("ha"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantContents(t, image, 3)
	after, err := Open(ctx, Options{Data: image, LogSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = after.Close() }()
	wantContents(t, image, 1)
	listed := 0
	err = after.catalog.List(ctx, store.Query{Folder: folder}, func(d store.Listed) error { listed++; return nil })
	if err != nil || listed != 1 {
		t.Errorf("%d documents after the crash, %v", listed, err)
	}
}

// The machine crashes before the files of contents reach the disk: the redo log has them. A content without
// a document, which the log brings back, is removed.
func TestCrashWithContentsInTheLog(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	data, image := t.TempDir(), filepath.Join(t.TempDir(), "image")
	s, err := Open(ctx, Options{Data: data, LogSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	folder, err := s.AddMandator(ctx, "M")
	if err != nil {
		t.Fatal(err)
	}
	documents, working := 0, s.catalog
	add := func() error {
		documents++
		_, err := s.AddDocument(ctx, NewDocument{Folder: folder, Name: "d", Created: time.Now(), Archived: time.Now()}, strings.NewReader(fmt.Sprint("content ", documents)))
		return err
	}
	for logged := 0; logged < 20; {
		if err := add(); err != nil {
			t.Fatal(err)
		}
		logged++
	}
	s.catalog = brokenCatalog{wholeArchive: working, image: func() {
		content := fmt.Sprint("content ", documents)
		awaitContent(t, data, content)
		awaitEntry(t, data, content)
		if err := os.CopyFS(image, os.DirFS(data)); err != nil {
			t.Error(err)
		}
	}}
	if err := add(); !errors.Is(err, errRow) {
		t.Fatalf("got %v", err)
	}
	documents--
	s.catalog = working

	contents := filepath.Join(image, "contents")
	entries := entriesIn(t, contents)
	if len(entries) < 20 {
		t.Fatalf("%d entries are in the log", len(entries))
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(contents, e.Key[:2], e.Key)); err != nil {
			t.Fatal(err)
		}
	}
	after, err := Open(ctx, Options{Data: image, LogSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	listed, err := after.catalog.Contents(ctx, folder)
	if err != nil || len(listed) != documents {
		t.Errorf("%d documents after the crash, want %d, %v", len(listed), documents, err)
	}
	for _, d := range listed {
		content, err := after.vault.Open(ctx, d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := content.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := after.Close(); err != nil {
		t.Error(err)
	}
	wantContents(t, image, documents)
}

func TestAnOrderlyEndNeedsNoSweep(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for range 2 {
		s, err := Open(t.Context(), Options{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		if s.lock.Interrupted {
			t.Error("an orderly end is taken for a crash")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitContent waits until a content, which is being published, is in its place.
func awaitContent(t *testing.T, data, content string) {
	t.Helper()
	key := keyOf(content)
	await(t, func() bool {
		_, err := os.Stat(filepath.Join(data, "contents", key[:2], key))
		return err == nil
	})
}

// awaitEntry waits until the log has a content.
func awaitEntry(t *testing.T, data, content string) {
	t.Helper()
	await(t, func() bool {
		return slices.ContainsFunc(entriesIn(t, filepath.Join(data, "contents")), func(e journal.Replayed) bool { return e.Key == keyOf(content) })
	})
}

// entriesIn returns the entries of the journal in a directory.
func entriesIn(t *testing.T, dir string) (entries []journal.Replayed) {
	t.Helper()
	done, err := journal.Read(dir, func(e journal.Replayed) { entries = append(entries, e) })
	if err != nil {
		t.Fatal(err)
	}
	done()
	return entries
}

// await waits until something is so.
func await(t *testing.T, so func() bool) {
	t.Helper()
	for ends := time.Now().Add(2 * time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(ends) {
			t.Fatal("it has never come")
		}
	}
}

func keyOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func wantContents(t *testing.T, data string, want int) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(data, "contents"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !journal.IsFile(d.Name()) {
			n++
		}
		return err
	})
	if err != nil || n != want {
		t.Errorf("%d contents, want %d, %v", n, want, err)
	}
}
