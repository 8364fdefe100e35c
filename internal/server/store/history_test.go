package store_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

// trailLines is an audit trail as lines.
func trailLines(entries []store.Entry) []string {
	var lines []string
	for _, e := range entries {
		line := e.User + ": " + string(e.Action)
		if e.Key != "" {
			line += " " + e.Key
		}
		lines = append(lines, line+": "+e.Was+" -> "+e.Became)
	}
	return lines
}

func TestChangesAreRecorded(t *testing.T) {
	onEach(t, testChangesAreRecorded)
}

func testChangesAreRecorded(t *testing.T, s opened) {
	ctx := t.Context()
	eve := s.By("eve")
	m := folder(t, eve, store.Folder{Name: "M"})
	tray := folder(t, s, store.Folder{Name: "Tray", Inbox: true})
	ids, err := s.AddDocuments(ctx, []store.Document{
		{Folder: tray, Name: "scan", Digest: "d1", Keywords: []string{"a"}, Metadata: []archive.KeyValue{{Key: "n", Value: "1"}, {Key: "m", Value: "2"}}},
		{Folder: tray, Name: "spam", Digest: "d2"},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	value := "3"
	must(eve.Alter(ctx, ids[0], store.SetKeywords([]string{"a", "b"})))
	must(eve.Alter(ctx, ids[0], store.SetMetadata(map[string]*string{"n": &value, "m": nil, "\x00": &value})))
	must(eve.Alter(ctx, ids[0], store.SetAutoExport(true)))
	must(eve.Alter(ctx, ids[0], store.SetAutoExport(true))) // nothing changes
	_, err = eve.ReplaceContent(ctx, ids[0], store.Content{Digest: "d3", Keywords: []string{"c"}})
	must(err)
	made, err := eve.ArchiveDocument(ctx, ids[0], store.Target{Folder: m, Name: "Invoice", Keywords: []string{"paid"}, At: time.Now()})
	must(err)
	must(s.By("bob").Alter(ctx, made, store.SetName(strings.Repeat("ä", 3000))))
	_, err = eve.DeleteDocument(ctx, ids[1])
	must(err)

	history, err := s.History(ctx, made, 100)
	must(err)
	same(t, trailLines(history), []string{
		"bob: name: Invoice -> " + strings.Repeat("ä", 2046) + "…",
		`eve: keywords: ["c"] -> ["c","paid"]`,
		"eve: name: scan -> Invoice",
		"eve: archive: INBOX/Tray/scan -> /M/Invoice",
		`eve: keywords: ["a","b"] -> ["c"]`,
		"eve: replace: d1 -> d3",
		"eve: auto-export: false -> true",
		"eve: metadata \ufffd:  -> 3",
		"eve: metadata m: 2 -> ",
		"eve: metadata n: 1 -> 3",
		`eve: keywords: ["a"] -> ["a","b"]`,
	})
	if e := history[3]; e.Document != made || e.Former != ids[0] || time.Since(e.At) > time.Hour {
		t.Errorf("%+v", e)
	}
	trail, err := s.Trail(ctx, 0, 2)
	must(err)
	same(t, trailLines(trail), []string{"eve: create-folder:  -> M", ": create-folder:  -> Tray"})
	rest, err := s.Trail(ctx, history[0].ID, 100)
	must(err)
	same(t, trailLines(rest), []string{"eve: delete: INBOX/Tray/spam d2 -> "})
	other, err := s.AddTenant(ctx, "other", "")
	must(err)
	for _, id := range []archive.ID{made, ids[1]} {
		if entries, err := s.Tenant(other).History(ctx, id, 100); err != nil || len(entries) > 0 {
			t.Errorf("another tenant gets %v, %v", entries, err)
		}
	}
	if entries, err := s.Tenant(other).Trail(ctx, 0, 100); err != nil || len(entries) > 0 {
		t.Errorf("another tenant gets %v, %v", entries, err)
	}
}

// A failed change leaves no entry, because it is in the same transaction.
func TestRefusedChangesAreNotRecorded(t *testing.T) {
	onEach(t, testRefusedChangesAreNotRecorded)
}

func testRefusedChangesAreNotRecorded(t *testing.T, s opened) {
	m := folder(t, s, store.Folder{Name: "M"})
	fill(t, s, 1, m)
	_, err := s.AddFolder(t.Context(), store.Folder{Name: "M"})
	if archive.KindOf(err) != archive.KindConflict {
		t.Fatal(err)
	}
	if _, err := s.DeleteDocument(t.Context(), 1); archive.KindOf(err) != archive.KindForbidden {
		t.Fatal(err)
	}
	trail, err := s.Trail(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	same(t, trailLines(trail), []string{": create-folder:  -> M"})
}

// The database itself refuses what would falsify the archive, whoever writes to it.
func TestTheDatabaseKeepsWhatIsArchived(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "archive.db")
		testKeepsWhatIsArchived(t, open(t, file), "sqlite", file)
	})
	t.Run("postgres", func(t *testing.T) {
		url := pgtest.Database(t)
		testKeepsWhatIsArchived(t, openURL(t, url), "pgx", url)
	})
}

func testKeepsWhatIsArchived(t *testing.T, s opened, driver, name string) {
	m := folder(t, s, store.Folder{Name: "M"})
	tray := folder(t, s, store.Folder{Name: "Tray", Inbox: true})
	fill(t, s, 1, m)
	if _, err := s.AddDocuments(t.Context(), []store.Document{{Folder: tray, Name: "scan"}}, false); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	own := []string{"INSERT OR REPLACE INTO document SELECT * FROM document", "INSERT OR REPLACE INTO audit SELECT * FROM audit"}
	if driver == "pgx" {
		own = []string{"TRUNCATE document CASCADE", "TRUNCATE audit"}
	}
	for _, falsified := range append(own, []string{
		"UPDATE document SET digest = 'x' WHERE id = 1",
		"UPDATE document SET size = 1 WHERE id = 1",
		"UPDATE document SET content_type = 'text/plain'",
		"UPDATE document SET archived = NULL WHERE id = 1",
		"UPDATE document SET archived = 1 WHERE id = 1",
		"UPDATE document SET created = 1 WHERE id = 1",
		"UPDATE document SET folder = 2 WHERE id = 1",
		"UPDATE document SET id = 7 WHERE id = 1",
		"DELETE FROM document WHERE id = 1",
		"DELETE FROM document",
		"UPDATE audit SET who = 'eve' WHERE id = 1",
		"DELETE FROM audit",
	}...) {
		if _, err := db.ExecContext(t.Context(), falsified); err == nil || !strings.Contains(err.Error(), "archived document cannot") && !strings.Contains(err.Error(), "only added to") {
			t.Errorf("%s: %v", falsified, err)
		}
	}
	for _, allowed := range []string{
		"UPDATE document SET name = 'x', keywords = '[]' WHERE id = 1",
		"UPDATE document SET digest = 'x', size = 1 WHERE id = 2",
		"DELETE FROM document WHERE id = 2",
	} {
		if _, err := db.ExecContext(t.Context(), allowed); err != nil {
			t.Errorf("%s: %v", allowed, err)
		}
	}
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
