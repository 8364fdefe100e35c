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
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/store"
)

var errRow = errors.New("the row cannot be written")

// brokenCatalog fails between the content and its row; before it does, it takes an image
// of the data directory, as a crash at this moment would leave it.
type brokenCatalog struct {
	wholeArchive
	image func()
}

func (c brokenCatalog) In(store.Scope) catalog.Catalog { return c }

func (c brokenCatalog) AddDocuments(context.Context, []store.Document, bool) ([]archive.ID, error) {
	c.image()
	return nil, errRow
}

// The program ends between a content and its row, while the journal alone has the contents. Those of documents are
// there afterwards, and the one without a document is removed.
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
	add := func(content string) error {
		_, err := s.AddDocument(ctx, NewDocument{Folder: folder, Name: "d", Created: time.Now(), Archived: time.Now()}, strings.NewReader(content))
		return err
	}
	const documents = 20
	for n := range documents {
		if err := add(fmt.Sprint("content ", n)); err != nil {
			t.Fatal(err)
		}
	}
	working := s.catalog
	s.catalog = brokenCatalog{wholeArchive: working, image: func() {
		awaitEntry(t, data, "lost")
		if err := os.CopyFS(image, os.DirFS(data)); err != nil {
			t.Error(err)
		}
	}}
	if err := add("lost"); !errors.Is(err, errRow) {
		t.Fatalf("got %v", err)
	}
	s.catalog = working
	if err := add("lost"); err != nil {
		t.Errorf("after the failure: %v", err)
	}
	wantContents(t, data, 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantContents(t, data, documents+1)

	if err := os.WriteFile(filepath.Join(image, "contents", "incoming", ".tmp-half"), []byte("ha"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantContents(t, image, 1)
	after, err := Open(ctx, Options{Data: image, LogSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	wantContents(t, image, documents)
	listed := 0
	err = after.catalog.List(ctx, store.Query{Folder: folder}, func(d store.Listed) error {
		listed++
		full, err := after.catalog.Document(ctx, d.ID)
		if err != nil {
			return err
		}
		content, err := after.vault.Open(ctx, full.Digest)
		if err != nil {
			return err
		}
		return content.Close()
	})
	if err != nil || listed != documents {
		t.Errorf("%d documents after the crash, %v", listed, err)
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

// wantContents fails the test unless so many contents have files.
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
