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
	for version, want := range map[int]string{1000: "newer archivefs", 7: "never released"} {
		query(t, url, fmt.Sprint("UPDATE schema_version SET version = ", version))
		if _, err := store.OpenPostgres(t.Context(), url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a database of version %d: %v", version, err)
		}
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
