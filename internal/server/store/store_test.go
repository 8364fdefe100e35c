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
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// archiver is a view, or what has one.
type archiver interface {
	AddFolder(ctx context.Context, f store.Folder) (archive.ID, error)
	AddDocuments(ctx context.Context, documents []store.Document, reuse bool) ([]archive.ID, error)
	List(ctx context.Context, q store.Query, each func(store.Listed) error) error
}

// opened is a database with the view of its default tenant.
type opened struct {
	*store.Store
	store.Archive
}

func open(t testing.TB, file string) opened {
	t.Helper()
	s, err := store.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return closing(t, s)
}

func openURL(t testing.TB, url string) opened {
	t.Helper()
	s, err := store.OpenPostgres(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return closing(t, s)
}

// closing closes the database when the test ends.
func closing(t testing.TB, s *store.Store) opened {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened{s, s.Tenant(store.DefaultTenant)}
}

func folder(t testing.TB, s archiver, f store.Folder) archive.ID {
	t.Helper()
	id, err := s.AddFolder(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestOpenTakesAnyPath(t *testing.T) {
	file := filepath.Join(t.TempDir(), "100% ä?x=1&y#z.db")
	s := open(t, file)
	folder(t, s, store.Folder{Name: "M"})
	if matches, err := filepath.Glob(filepath.Join(filepath.Dir(file), "100%*")); err != nil || !slices.Contains(matches, file) {
		t.Errorf("files %v, %v", matches, err)
	}
}

func TestTheDatabaseIsItsOwnersAlone(t *testing.T) {
	for name, earlier := range map[string]bool{"new": false, "readable before": true} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "archive.db")
			if earlier {
				if err := os.WriteFile(file, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, file)
			folder(t, s, store.Folder{Name: "M"})
			matches, err := filepath.Glob(file + "*")
			if err != nil || len(matches) < 2 {
				t.Fatalf("files %v, %v", matches, err)
			}
			for _, match := range matches {
				info, err := os.Stat(match)
				if err != nil {
					t.Fatal(err)
				}
				if mode := info.Mode().Perm(); mode != 0o600 {
					t.Errorf("%s has mode %o", filepath.Base(match), mode)
				}
			}
		})
	}
}

func TestOpenRefusesOtherDatabases(t *testing.T) {
	file := filepath.Join(t.TempDir(), "archive.db")
	s, err := store.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for version, want := range map[int]string{1000: "newer archivefs", 7: "never released"} {
		if _, err := db.ExecContext(t.Context(), fmt.Sprint("PRAGMA user_version = ", version)); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(t.Context(), file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("opened version %d: %v", version, err)
		}
	}
}

func TestDocumentsComeBackAsTheyWere(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		m := folder(t, s, store.Folder{Name: "M"})
		want := store.Document{
			Folder: m, Name: "näme with\nanything", Created: time.Unix(-5, 0), Archived: time.Unix(1700000000, 0), Pages: 3, Size: 1 << 40,
			ContentType: "text/plain", Keywords: []string{"<a>", "b,c"}, Metadata: []archive.KeyValue{{Key: "z", Value: "1"}, {Key: "a"}},
			AutoExport: true, Digest: "d", Types: []string{"t"}, Creator: "eve", ExternalID: "E", Source: "s",
		}
		ids, err := s.AddDocuments(t.Context(), []store.Document{want}, false)
		if err != nil {
			t.Fatal(err)
		}
		want.ID, want.Text = ids[0], store.Waiting
		got, err := s.Document(t.Context(), ids[0])
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
		}
	})
}

func TestAddingIsAllOrNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		m := folder(t, s, store.Folder{Name: "M"})
		d := store.Document{Folder: m, Name: "d", Created: time.Unix(1, 0), Archived: time.Unix(1, 0)}
		bad := d
		bad.Folder = 999
		if _, err := s.AddDocuments(t.Context(), []store.Document{d, bad}, false); archive.KindOf(err) != archive.KindNotFound {
			t.Errorf("got %v", err)
		}
		if got := listed(t, s, store.Query{Folder: m}); len(got) != 0 {
			t.Errorf("half of an upload stayed: %v", got)
		}
	})
}

func TestACancelledChangeIsNone(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.AddFolder(ctx, store.Folder{Name: "M"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if empty, err := s.Empty(t.Context()); err != nil || !empty {
			t.Errorf("empty %v, %v", empty, err)
		}
	})
}

func TestSettings(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		for _, want := range []string{"", "one", "two"} {
			if want != "" {
				if err := s.SetSetting(t.Context(), "name", want); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := s.Setting(t.Context(), "name"); err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
	})
}

func TestRenditionsStayAsLongAsTheirSource(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		ctx := t.Context()
		inbox := folder(t, s, store.Folder{Name: "I", Inbox: true})
		ids, err := s.AddDocuments(ctx, []store.Document{{Folder: inbox, Name: "d", Digest: "source"}}, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Uses.AddRendition(ctx, store.Scope{}, "source", "text", "pdf"); err != nil {
			t.Fatal(err)
		}
		remove := func() (removed []string) {
			t.Helper()
			err := s.Uses.Drop(ctx, "source", func(_ context.Context, digest string) error { removed = append(removed, digest); return nil })
			if err != nil {
				t.Fatal(err)
			}
			return removed
		}
		if removed := remove(); len(removed) != 0 {
			t.Errorf("removed %v while the document is there", removed)
		}
		if _, err := s.DeleteDocument(ctx, ids[0]); err != nil {
			t.Fatal(err)
		}
		if removed := remove(); !slices.Equal(removed, []string{"source", "pdf"}) {
			t.Errorf("removed %v", removed)
		}
		if got, err := s.Uses.Rendition(ctx, "source", "text"); err != nil || got != "" {
			t.Errorf("%q, %v", got, err)
		}
		if err := s.Uses.AddRendition(ctx, store.Scope{}, "source", "text", "pdf"); archive.KindOf(err) != archive.KindNotFound {
			t.Errorf("a rendition of what is gone: %v", err)
		}
	})
}

// Changes that are made together are all made, or none.
func TestTogether(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		there := folder(t, s, store.Folder{Name: "there"})
		add := func(name string, in archive.ID) (made archive.ID, err error) {
			err = s.Together(t.Context(), func(one store.Scope) error {
				all, ctx := s.In(one), t.Context()
				if made, err = all.AddFolder(ctx, store.Folder{Name: name, Parent: there}); err != nil {
					return err
				}
				for _, to := range []archive.ID{made, in} {
					d := store.Document{Folder: to, Name: "a", Created: time.Unix(1, 0), Archived: time.Unix(2, 0), Digest: "d-a", Size: 3}
					if _, err := all.AddDocuments(ctx, []store.Document{d}, false); err != nil {
						return err
					}
				}
				return nil
			})
			return made, err
		}
		id, err := add("new", there)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		err = s.List(t.Context(), store.Query{Folder: id}, func(d store.Listed) error { names = append(names, d.Name); return nil })
		if err != nil || !slices.Equal(names, []string{"a"}) {
			t.Errorf("the folder has %q, %v", names, err)
		}
		if with, err := s.UploadedWith(t.Context(), 1); err != nil || len(with) != 0 {
			t.Errorf("uploaded with %v, %v", with, err)
		}
		if _, err := add("lost", 999); archive.KindOf(err) != archive.KindNotFound {
			t.Errorf("a document in a folder that is not there: %v", err)
		}
		if below, err := s.Children(t.Context(), there); err != nil || len(below) != 1 {
			t.Errorf("the folders are %+v, %v", below, err)
		}
	})
}

// Errors name the kind of a folder that exists already, or does not exist.
func TestFoldersAreCalledWhatTheyAre(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		mandator := folder(t, s, store.Folder{Name: "N"})
		folder(t, s, store.Folder{Name: "N", Inbox: true})
		folder(t, s, store.Folder{Name: "N", Parent: mandator})
		for want, again := range map[string]store.Folder{
			`the mandator "N" is there already`: {Name: "N"},
			`the inbox "N" is there already`:    {Name: "N", Inbox: true},
			`the folder "N" is there already`:   {Name: "N", Parent: mandator},
		} {
			if _, err := s.AddFolder(t.Context(), again); archive.KindOf(err) != archive.KindConflict || !strings.Contains(err.Error(), want) {
				t.Errorf("want %s: %v", want, err)
			}
		}
		for parent, want := range map[archive.ID]string{0: `there is no mandator "x"`, mandator: `there is no folder "x"`} {
			if _, err := s.Child(t.Context(), parent, "x"); archive.KindOf(err) != archive.KindNotFound || !strings.Contains(err.Error(), want) {
				t.Errorf("want %s: %v", want, err)
			}
		}
	})
}
