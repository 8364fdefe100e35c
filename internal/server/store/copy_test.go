package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

// many fills a database with rows in every table and values in every column. The rows with the last ids
// are removed again.
func many(t *testing.T, s opened, texts map[string]string) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tenant, err := s.AddTenant(ctx, "other", "The Other Ltd")
	must(err)
	must(s.SetSetting(ctx, "free", "true"))
	must(s.Tenant(tenant).SetSetting(ctx, "free", "false"))
	root := folder(t, s, store.Folder{Name: "M"})
	inbox := folder(t, s, store.Folder{Name: "I", Inbox: true, UserID: 7})
	theirs := folder(t, s.Tenant(tenant), store.Folder{Name: "Theirs"})
	folder(t, s, store.Folder{Parent: root, Name: "below é \\ ' \" \x1f"})
	at := time.Unix(1700000000, 0)
	ids, err := s.AddDocuments(ctx, []store.Document{{
		Folder: root, Name: "Größe", Created: at, Archived: at, Pages: 2, Size: 1 << 40, Digest: fmt.Sprintf("%064x", 1), ContentType: "text/plain",
		Keywords: []string{"a\x00b", "{},\""}, Types: []string{"T"}, Metadata: []archive.KeyValue{{Key: "k", Value: "v"}}, ExternalID: "E", AutoExport: true,
		Creator: "eve", Notes: []archive.Note{{Text: "n", Date: "d"}}, Stamps: []archive.Stamp{{Title: "s"}},
	}, {Folder: root, Name: "second", Archived: at, Digest: fmt.Sprintf("%064x", 2)}}, false)
	must(err)
	_, err = s.Tenant(tenant).AddDocuments(ctx, []store.Document{{Folder: theirs, Name: "x", Archived: at, Digest: fmt.Sprintf("%064x", 1)}}, false)
	must(err)
	must(s.Uses.AddRendition(ctx, store.Scope{}, fmt.Sprintf("%064x", 1), "v", "pdf"))
	must(s.By("eve").Alter(ctx, ids[0], store.SetName("Müller")))
	_, err = s.Access.AddAccount(ctx, store.DefaultTenant, "eve", "hash", at)
	must(err)
	key, err := s.Access.AddKey(ctx, store.DefaultTenant, store.Key{Name: "k", Scopes: []string{"read"}, Mandators: []archive.ID{root}, Created: at, Expires: at.Add(time.Hour)}, "hash")
	must(err)
	must(s.Access.RevokeKeys(ctx, store.DefaultTenant, []int64{key}, at))
	_, err = s.Access.AddKey(ctx, store.DefaultTenant, store.Key{Created: at}, "hash of another")
	must(err)
	var names []string
	for name := range texts {
		names = append(names, name)
	}
	slices.Sort(names)
	passing := holding(t, s, inbox, append(names, "passing")...)
	read(t, s, texts)
	_, err = s.DeleteDocument(ctx, passing[len(passing)-1])
	must(err)
	trashed, err := s.AddDocuments(ctx, []store.Document{{Folder: root, Name: "twice", Archived: at, Digest: fmt.Sprintf("%064x", 3)}}, false)
	must(err)
	must(s.Trash.Put(ctx, s.Archive, trashed[0], store.Removal{Reason: "twice", At: time.Unix(1, 0), Due: time.Unix(2, 0)}))
	_, err = s.Trash.AddRetention(ctx, s.Archive, store.Retention{Name: "bills", Months: 120, Type: "Rechnung"})
	must(err)
}

// dump is the content of a SQLite database, by table, without derived data.
func dump(t *testing.T, file string) map[string][]string {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), "CREATE VIRTUAL TABLE temp.word USING fts5vocab(main, content_index, instance)"); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{"word": lines(t, db, "SELECT * FROM temp.word ORDER BY doc, col, offset")}
	for _, name := range lines(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB '*_index*' AND name != 'indexed_to'") {
		all[name] = lines(t, db, "SELECT * FROM "+name)
		slices.Sort(all[name])
	}
	return all
}

// lines are the rows of a query, as text.
func lines(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%q", values)
		if len(columns) == 1 {
			text = fmt.Sprint(values[0])
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func wantSame(t *testing.T, got, want map[string][]string) {
	t.Helper()
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("%s is\n%s\nwant\n%s", name, strings.Join(got[name], "\n"), strings.Join(want[name], "\n"))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d tables, want %d", len(got), len(want))
	}
}

// copied is a copy of a database in a file.
func copied(t *testing.T, s *store.Store) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "copy.db")
	if err := s.CopyTo(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	return file
}

// filled is a PostgreSQL database with the content of a file.
func filled(t *testing.T, file string) (url string) {
	t.Helper()
	url = pgtest.Database(t)
	held, r, err := store.RestorePostgres(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Fill(held, open(t, file).Store, func(int64) {}), r.Close()); err != nil {
		t.Fatal(err)
	}
	return url
}

// unindexed has a database forget which texts are in its index, as a copy for another engine does.
func unindexed(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"UPDATE content SET state = 'waiting', attempts = 0, due = 0 WHERE state IN ('yes', 'none')", "INSERT INTO content_index (content_index) VALUES ('delete-all')",
	} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// A copy to the other engine and back changes nothing but the index of texts, which a service makes anew.
func TestCopiesBetweenEngines(t *testing.T) {
	texts := map[string]string{
		"de": "Sehr geehrte Frau Müller, die Häuser in der Hauptstraße 7 wurden am 3.5.2024 verkauft; die Häuser!", "none": "",
		"some": strings.Repeat("a b c ", 200), "x": "x", "long": strings.Repeat("lorem ipsum ", 20_000),
	}
	onEach(t, func(t *testing.T, s opened) {
		many(t, s, texts)
		first := copied(t, s.Store)
		url := filled(t, first)
		unindexed(t, first)
		want := dump(t, first)
		for name, rows := range want {
			if len(rows) == 0 && name != "word" {
				t.Errorf("nothing is in %s", name)
			}
		}
		there := openURL(t, url)
		wantSame(t, dump(t, copied(t, there.Store)), want)
		read(t, there, texts)
		for _, q := range []string{"häuser", "müller", "hauptstraße 7", "lorem"} {
			if got, want := found(t, there, there.Archive, store.Search{All: []string{q}}), found(t, s, s.Archive, store.Search{All: []string{q}}); len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("%q is found in %q, want %q", q, got, want)
			}
		}
		if id, err := there.Setting(t.Context(), store.SettingID); err != nil || len(id) != 36 {
			t.Errorf("the archive is named %q, %v", id, err)
		}
		// No id is reused, not even that of a removed row.
		last := holding(t, s, 2, "new")[0]
		if id := holding(t, there, 2, "new")[0]; id != last {
			t.Errorf("a new document has the id %d, want %d", id, last)
		}
	})
}

func TestARestoreTakesAnEmptyDatabaseAlone(t *testing.T) {
	source := open(t, filepath.Join(t.TempDir(), "source.db"))
	folder(t, source, store.Folder{Name: "M"})
	for name, use := range map[string]func(ctx context.Context, s opened) error{
		"an id": func(ctx context.Context, s opened) error { return s.SetSetting(ctx, store.SettingID, "id") },
		"a user": func(ctx context.Context, s opened) error {
			_, err := s.Access.AddAccount(ctx, store.DefaultTenant, "eve", "hash", time.Now())
			return err
		},
		"a tenant": func(ctx context.Context, s opened) error { _, err := s.AddTenant(ctx, "c", ""); return err },
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Database(t)
			if err := use(t.Context(), openURL(t, url)); err != nil {
				t.Fatal(err)
			}
			if _, _, err := store.RestorePostgres(t.Context(), url); err == nil || !strings.Contains(err.Error(), "there is an archive in the database already") {
				t.Errorf("got %v", err)
			}
			// Rows that are added while contents are copied are not lost either.
			url = pgtest.Database(t)
			before := openURL(t, url)
			held, r, err := store.RestorePostgres(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			if err := use(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			if err := r.Fill(held, source.Store, func(int64) {}); err == nil || !strings.Contains(err.Error(), "there is an archive in the database already") {
				t.Errorf("got %v", err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// spoil adds a key that PostgreSQL refuses to the last table of a database.
func spoil(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO api_key (tenant, name, hash, scopes, created) VALUES (1, CAST(x'ff' AS TEXT), 'h', '[]', 1)")
	return errors.Join(err, db.Close())
}

// An incomplete database cannot be opened, and a restore continues an interrupted one.
func TestARestoreIsWholeOrNot(t *testing.T) {
	ctx, url := t.Context(), pgtest.Database(t)
	source := open(t, filepath.Join(t.TempDir(), "source.db"))
	folder(t, source, store.Folder{Name: "M"})
	_, r, err := store.RestorePostgres(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.RestorePostgres(ctx, url); err == nil || !strings.Contains(err.Error(), "another restore is under way") {
		t.Errorf("two at a time: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(context.Context, string) (*store.Store, error){"open": store.OpenPostgres, "view": store.ViewPostgres} {
		if s, err := open(ctx, url); err == nil || !strings.Contains(err.Error(), "the archive there is not whole") {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	held, again, err := store.RestorePostgres(ctx, url+"&pool_max_conns=1")
	if err != nil || again.ID != r.ID {
		t.Fatalf("it is named %v, want %s: %v", again, r.ID, err)
	}
	if err := errors.Join(again.Rename(held), again.Close()); err != nil || again.ID == r.ID {
		t.Fatalf("it is still named %s: %v", r.ID, err)
	}
	renamed := again.ID
	held, again, err = store.RestorePostgres(ctx, url+"&pool_max_conns=1")
	if err != nil || again.ID != renamed {
		t.Fatalf("it is named %v, want %s: %v", again, renamed, err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	folder(t, open(t, damaged), store.Folder{Name: "M"})
	if err := spoil(ctx, damaged); err != nil {
		t.Fatal(err)
	}
	if err := again.Fill(held, open(t, damaged).Store, func(int64) {}); err == nil || !strings.Contains(err.Error(), "copy api_key: ") {
		t.Errorf("what cannot be kept: %v", err)
	}
	if err := errors.Join(again.Abandon(held), again.Fill(held, source.Store, func(int64) {}), again.Close()); err != nil {
		t.Fatal(err)
	}
	if roots, err := openURL(t, url).Roots(ctx, false); err != nil || len(roots) != 1 {
		t.Errorf("%+v, %v", roots, err)
	}
	other := pgtest.Database(t)
	held, r, err = store.RestorePostgres(ctx, other)
	if err != nil {
		t.Fatal(err)
	}
	named := r.ID
	if err := errors.Join(r.Rename(held), r.Abandon(held), r.Close()); err != nil || r.ID != named {
		t.Fatalf("a restore that began is named %s, want %s: %v", r.ID, named, err)
	}
	openURL(t, other)
}
