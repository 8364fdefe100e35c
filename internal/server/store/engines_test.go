package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgtest.End()
	os.Exit(code)
}

// onEach runs a test on a new database of every engine.
func onEach(t *testing.T, test func(t *testing.T, s opened)) {
	t.Run("sqlite", func(t *testing.T) { test(t, open(t, filepath.Join(t.TempDir(), "archive.db"))) })
	t.Run("postgres", func(t *testing.T) { test(t, openURL(t, pgtest.Database(t))) })
}

// benchOnEach does the same for a benchmark.
func benchOnEach(b *testing.B, bench func(b *testing.B, s opened)) {
	b.Run("sqlite", func(b *testing.B) { bench(b, open(b, filepath.Join(b.TempDir(), "archive.db"))) })
	b.Run("postgres", func(b *testing.B) { bench(b, openURL(b, pgtest.Database(b))) })
}

// Two instances open a new database at the same time: it is migrated once.
func TestMigrationsRunOnce(t *testing.T) {
	url := pgtest.Database(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := store.OpenPostgres(t.Context(), url)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	query(t, url, "INSERT INTO schema_version VALUES (1000)")
	if _, err := store.OpenPostgres(t.Context(), url); err == nil || !strings.Contains(err.Error(), "newer archivefs") {
		t.Errorf("a newer database: %v", err)
	}
}

// A migration adds the ids of the users who added and archived existing documents.
func TestUsersOfAnOlderDatabase(t *testing.T) {
	url := pgtest.Database(t)
	query(t, url, "CREATE TABLE schema_version (version BIGINT NOT NULL)")
	query(t, url, "INSERT INTO schema_version VALUES (6)")
	for _, name := range []string{"0002_archive", "0003_audit", "0004_search", "0005_contents", "0006_access"} {
		step, err := os.ReadFile(filepath.Join("migrations", "postgres", name+".sql"))
		if err != nil {
			t.Fatal(err)
		}
		query(t, url, string(step))
	}
	document := func(id int, archived, creator string) string {
		return fmt.Sprintf(`INSERT INTO document VALUES (%d, 1, %d, 'd', 1, %s, 1, 1, 't', '[]', '[]', false, 'd', '[]', '%s', NULL, NULL, NULL, '', '')`,
			id, map[bool]int{true: 2, false: 1}[archived == "NULL"], archived, creator)
	}
	for _, statement := range []string{
		"INSERT INTO folder VALUES (1, 1, NULL, 'M', 'm', false, NULL), (2, 1, NULL, 'I', 'i', true, 7), (3, 1, NULL, 'eve', 'eve', true, 8)",
		"INSERT INTO account VALUES (9, 1, 'eve', '', 1)",
		document(1, "2", "eve"), document(2, "NULL", "I"), document(3, "2", "eve"), document(4, "2", "adam"),
		"INSERT INTO audit (tenant, at, who, document, action, key, was, became) VALUES (1, 2, 'I', 3, 'archive', '', '', ''), (1, 2, 'I', 1, 'name', '', '', '')",
		"INSERT INTO annotation VALUES (1, 2, 1, 'note', '', '', '', 'eve', '', '')",
	} {
		query(t, url, statement)
	}
	s := openURL(t, url)
	for id, want := range map[archive.ID][2]int64{1: {9, 9}, 2: {7, 0}, 3: {9, 7}, 4: {0, 0}} {
		if d, err := s.Document(t.Context(), id); err != nil || [2]int64{d.CreatorID, d.ArchiverID} != want {
			t.Errorf("document %d: %d and %d, %v, want %v", id, d.CreatorID, d.ArchiverID, err, want)
		}
	}
	if notes, _, err := s.Annotations(t.Context(), 2); err != nil || len(notes) != 1 || notes[0].CreatorID != 9 {
		t.Errorf("notes %+v, %v", notes, err)
	}
}

// query runs a statement beside the store.
func query(t *testing.T, url, statement string) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestNoErrorTellsThePassword(t *testing.T) {
	url := strings.Replace(pgtest.Database(t), "postgres:///", "postgres://archivefs:"+password+"@/", 1)
	for name, wrong := range map[string]string{
		"no such server":   "postgres://archivefs:" + password + "@127.0.0.1:1/archivefs",
		"no such database": strings.Replace(url, "test_", "no_", 1),
		"bad URL":          "postgres://archivefs:" + password + "@[::1/archivefs",
		"bad port":         "postgres://archivefs:" + password + "@db:x/archivefs",
		"keywords":         "host=127.0.0.1 port=x password=" + password,
		"bad setting":      url + "&statement_timeout=" + "never",
		"bad pool":         url + "&pool_max_conns=many",
		"unknown host":     "postgres://archivefs:" + password + "@no.such.host.invalid/archivefs",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // an unreachable server is retried for longer
			defer cancel()
			s, err := store.OpenPostgres(ctx, wrong)
			if err == nil {
				t.Fatal("opened", s.Close())
			}
			if strings.Contains(err.Error(), password) {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
	if err := openURL(t, url).SetSetting(t.Context(), "a", password+"\x00"); err == nil || strings.Contains(err.Error(), password) {
		t.Errorf("a text that cannot be kept: %v", err)
	}
}

func TestTextsThatNoEngineKeepsAreRefused(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		ctx := t.Context()
		inbox := folder(t, s, store.Folder{Name: "I", Inbox: true})
		for _, bad := range []string{"a\x00b", "\xff"} {
			_, err1 := s.AddDocuments(ctx, []store.Document{{Folder: inbox, Name: bad}}, false)
			_, err2 := s.AddFolder(ctx, store.Folder{Name: bad})
			_, err3 := s.Child(ctx, 0, bad)
			for _, err := range []error{err1, err2, err3} {
				if archive.KindOf(err) != archive.KindInvalid {
					t.Errorf("%q: %v", bad, err)
				}
			}
			if ids, err := s.Search(ctx, store.Search{All: []string{bad}, Keywords: []string{bad}}); err != nil || len(ids) != 0 {
				t.Errorf("a search for %q: %v, %v", bad, ids, err)
			}
			// JSON columns can hold them.
			ids, err := s.AddDocuments(ctx, []store.Document{{
				Folder: inbox, Name: "a", Keywords: []string{bad}, Metadata: []archive.KeyValue{{Key: bad, Value: bad}},
			}}, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range []store.Search{{Keywords: []string{bad}}, {Metadata: []archive.KeyValue{{Key: bad, Value: bad}}}} {
				if found, err := s.Search(ctx, q); err != nil || !slices.Contains(found, ids[0]) {
					t.Errorf("%+v finds %v, %v", q, found, err)
				}
			}
		}
	})
}

// A server with a full disk reports it with an error code of its own.
func TestAFullServer(t *testing.T) {
	url := pgtest.Database(t)
	s := openURL(t, url)
	query(t, url, `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$`)
	query(t, url, "CREATE CONSTRAINT TRIGGER no_room AFTER INSERT ON folder DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION no_room()")
	if _, err := s.AddFolder(t.Context(), store.Folder{Name: "M"}); !errors.Is(err, syscall.ENOSPC) || archive.KindOf(err) != archive.KindOther {
		t.Errorf("%v", err)
	}
	query(t, url, "DROP TRIGGER no_room ON folder")
	if _, err := s.AddFolder(t.Context(), store.Folder{Name: "M"}); err != nil {
		t.Errorf("once there is room: %v", err)
	}
}
