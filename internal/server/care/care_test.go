package care_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // damages databases

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/care"
)

// day is when all documents were created and archived.
var day = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

// office is an unused data directory, with
//
//	Muster GmbH / Rechnungen / a, b (equal contents), c
//	inbox: scan
type office struct {
	t       *testing.T
	dir     string
	digests map[string]string // of contents, by name of the document
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, dir: filepath.Join(t.TempDir(), "data"), digests: map[string]string{}}
	s, err := server.Open(t.Context(), server.Options{Data: o.dir})
	if err != nil {
		t.Fatal(err)
	}
	must := func(id archive.ID, err error) archive.ID {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	folder := must(s.AddFolder(t.Context(), must(s.AddMandator(t.Context(), "Muster GmbH")), "Rechnungen"))
	inbox := must(s.AddInbox(t.Context(), 1, "Inbox"))
	for _, d := range []struct {
		folder        archive.ID
		name, content string
		archived      time.Time
	}{
		{folder, "a", "the same", day},
		{folder, "b", "the same", day},
		{folder, "c", strings.Repeat("a large one", 100_000), day},
		{inbox, "scan", "a scan", time.Time{}},
	} {
		must(s.AddDocument(t.Context(), server.NewDocument{Folder: d.folder, Name: d.name, Created: day, Archived: d.archived}, strings.NewReader(d.content)))
		o.digests[d.name] = digestOf(d.content)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *office) place() care.Place { return care.Place{Data: o.dir} }

// path is the file of a content.
func (o *office) path(digest string) string {
	return filepath.Join(o.dir, "contents", digest[:2], digest)
}

// orphan stores an unused content of some age.
func (o *office) orphan(content string, age time.Duration) (digest string) {
	o.t.Helper()
	files, err := blob.OpenFiles(filepath.Join(o.dir, "contents"))
	if err != nil {
		o.t.Fatal(err)
	}
	staged, err := files.Stage(o.t.Context(), strings.NewReader(content))
	if err == nil {
		err = files.Publish(o.t.Context(), staged)
	}
	if err != nil {
		o.t.Fatal(err)
	}
	before := time.Now().Add(-age)
	if err := os.Chtimes(o.path(staged.Digest()), before, before); err != nil {
		o.t.Fatal(err)
	}
	return staged.Digest()
}

// spoil changes the database in ways that its triggers refuse.
func (o *office) spoil(statements ...string) {
	o.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(o.dir, "archive.db"))
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	statements = append(withoutTriggers(o.t, db), statements...)
	for _, statement := range statements {
		if _, err := db.ExecContext(o.t.Context(), statement); err != nil {
			o.t.Fatal(err)
		}
	}
}

// withoutTriggers are the statements that drop the triggers of a database, which refuse some changes.
func withoutTriggers(t *testing.T, db *sql.DB) (statements []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT 'DROP TRIGGER ' || name FROM sqlite_schema WHERE type = 'trigger'")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var statement string
		if err := rows.Scan(&statement); err != nil {
			t.Fatal(err)
		}
		statements = append(statements, statement)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return statements
}

// verify returns what is found in dir, as lines.
func verify(t *testing.T, dir string, how care.Verification) (care.Verified, string) {
	t.Helper()
	a, err := care.ViewData(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return verifyArchive(t, a, how)
}

func verifyArchive(t *testing.T, a *care.Archive, how care.Verification) (care.Verified, string) {
	t.Helper()
	var found []string
	how.Settle = time.Nanosecond
	how.Found = func(f care.Finding) error {
		found = append(found, f.String())
		return nil
	}
	result, err := a.Verify(context.Background(), how)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return result, strings.Join(found, "\n")
}

func digestOf(content string) string {
	return fmt.Sprintf("%x", sum(content))
}

// wantFindings fails unless exactly these are found, each by its parts.
func wantFindings(t *testing.T, text string, result care.Verified, n int, parts ...string) {
	t.Helper()
	if result.All() != n {
		t.Errorf("%d findings, want %d:\n%s", result.All(), n, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not reported:\n%s", part, text)
		}
	}
}
