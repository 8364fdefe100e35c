package care_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/care"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
	"github.com/archivefs/archivefs/internal/testing/s3test"
)

func TestMain(m *testing.M) {
	code := m.Run()
	s3test.End()
	pgtest.End()
	os.Exit(code)
}

// An archive in PostgreSQL and a bucket is verified and counted like one in a directory.
func TestASharedArchive(t *testing.T) {
	place := care.Place{Database: pgtest.Database(t), Blobs: s3test.Bucket(t), Data: t.TempDir()}
	s, err := server.Open(t.Context(), server.Options{Database: place.Database, Blobs: place.Blobs, Data: place.Data})
	if err != nil {
		t.Fatal(err)
	}
	mandator, err := s.AddMandator(t.Context(), "Muster GmbH")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		d := server.NewDocument{Folder: mandator, Name: name, Created: day, Archived: day}
		if _, err := s.AddDocument(t.Context(), d, strings.NewReader("content of "+name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	view := func() *care.Archive {
		t.Helper()
		a, err := care.View(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := view()
	totals, err := a.Store.Totals(t.Context())
	if err != nil || totals.Documents != 2 || totals.Bytes != 24 || totals.Contents != 2 || totals.ContentBytes != 24 {
		t.Errorf("%+v, %v", totals, err)
	}
	result, text := verifyArchive(t, a, care.Verification{})
	wantFindings(t, text, result, 0)
	if result.Documents != 2 || result.Bytes != 24 {
		t.Errorf("%+v", result)
	}
	elsewhere, err := care.View(t.Context(), care.Place{Database: place.Database, Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close() //nolint:errcheck // it was read alone
	if result, err := elsewhere.Verify(t.Context(), care.Verification{Found: func(care.Finding) error { return nil }}); !errors.Is(err, blob.ErrUnclaimed) {
		t.Errorf("%+v, %v", result, err)
	}
	address, err := blob.ParseAddress(place.Blobs)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := blob.OpenBucket(t.Context(), address, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	staged, err := bucket.Stage(t.Context(), strings.NewReader("nobody's"))
	if err == nil {
		err = bucket.Publish(t.Context(), staged)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := bucket.Remove(t.Context(), digestOf("content of b")); err != nil {
		t.Fatal(err)
	}
	result, text = verifyArchive(t, view(), care.Verification{Grace: -2e9}) // times of a bucket are whole seconds
	wantFindings(t, text, result, 2, "missing: content "+digestOf("content of b"), "document 2: Muster GmbH/b", "orphan: content "+digestOf("nobody's"))
}
