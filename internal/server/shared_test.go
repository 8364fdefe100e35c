package server

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
	"github.com/archivefs/archivefs/internal/testing/s3test"
)

// shared are options of servers that share an archive, with files and with a bucket.
func shared(t *testing.T, test func(t *testing.T, o Options)) {
	t.Run("files", func(t *testing.T) { test(t, Options{Data: t.TempDir(), Database: pgtest.Database(t)}) })
	t.Run("bucket", func(t *testing.T) {
		test(t, Options{Data: t.TempDir(), Database: pgtest.Database(t), Blobs: s3test.Bucket(t)})
	})
}

func opened(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestServersOfOneArchive(t *testing.T) {
	t.Parallel()
	shared(t, func(t *testing.T, o Options) {
		one, other := opened(t, o), opened(t, o)
		mandator, err := one.AddMandator(t.Context(), "M")
		if err != nil {
			t.Fatal(err)
		}
		id, err := one.AddDocument(t.Context(), NewDocument{Folder: mandator, Name: "d", Created: time.Now(), Archived: time.Now()}, strings.NewReader("content"))
		if err != nil {
			t.Fatal(err)
		}
		asked := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		content, _, _, err := contentHandlers{renderer: other.renderer}.content(&request{Request: asked, catalog: other.catalog}, id, true, blob.Whole)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(content)
		if err := errors.Join(err, content.Close()); err != nil || string(got) != "content" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// A sweep for another database would remove what this one refers to.
func TestContentsOfAnotherArchiveAreRefused(t *testing.T) {
	t.Parallel()
	shared(t, func(t *testing.T, o Options) {
		opened(t, o)
		o.Database = pgtest.Database(t)
		s, err := Open(t.Context(), o)
		if !errors.Is(err, blob.ErrForeign) {
			t.Errorf("got %v", err)
		}
		if err == nil {
			_ = s.Close()
		}
	})
}

// A service that fails to start leaves no directory behind.
func TestARefusedServiceMakesNothing(t *testing.T) {
	t.Parallel()
	shared(t, func(t *testing.T, o Options) {
		s := opened(t, o)
		mandator, err := s.AddMandator(t.Context(), "M")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddDocument(t.Context(), NewDocument{Folder: mandator, Name: "d", Created: time.Now(), Archived: time.Now()}, strings.NewReader("content")); err != nil {
			t.Fatal(err)
		}
		o.Data = filepath.Join(t.TempDir(), "new")
		if o.Blobs != "" {
			o.Blobs = s3test.Bucket(t)
		}
		if _, err := Open(t.Context(), o); !errors.Is(err, blob.ErrUnclaimed) {
			t.Errorf("got %v", err)
		}
		if _, err := os.Lstat(o.Data); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there is a directory: %v", err)
		}
	})
}

// The sweeper of one would remove the contents of the other.
func TestDirectoryOfTheOtherKindOfArchiveIsRefused(t *testing.T) {
	t.Parallel()
	alone := Options{Data: t.TempDir()}
	several := Options{Data: t.TempDir(), Database: pgtest.Database(t)}
	for _, o := range []Options{alone, several} {
		s, err := Open(t.Context(), o)
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	alone.Database, several.Database = several.Database, ""
	for _, o := range []Options{alone, several} {
		before := tree(t, o.Data)
		s, err := Open(t.Context(), o)
		if err == nil {
			t.Errorf("database %q: the directory is taken", o.Database)
			_ = s.Close()
		}
		if after := tree(t, o.Data); !slices.Equal(after, before) {
			t.Errorf("there are %q, and were %q", after, before)
		}
	}
}

// tree names everything below a directory, except locks.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() != "lock" {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// With the wrong place of contents, existing documents could not be read, and other instances would not
// find new contents.
func TestAnotherPlaceForContentsIsRefused(t *testing.T) {
	t.Parallel()
	shared(t, func(t *testing.T, o Options) {
		s := opened(t, o)
		mandator, err := s.AddMandator(t.Context(), "M")
		if err != nil {
			t.Fatal(err)
		}
		elsewhere := o
		elsewhere.Data, elsewhere.Blobs = t.TempDir(), ""
		opened(t, elsewhere) // as long as there is no document
		if _, err := s.AddDocument(t.Context(), NewDocument{Folder: mandator, Name: "d", Created: time.Now(), Archived: time.Now()}, strings.NewReader("content")); err != nil {
			t.Fatal(err)
		}
		elsewhere.Data = t.TempDir()
		refused, err := Open(t.Context(), elsewhere)
		if !errors.Is(err, blob.ErrUnclaimed) {
			t.Errorf("got %v", err)
		}
		if err == nil {
			_ = refused.Close()
		}
		opened(t, o)
	})
}

// Contents that a killed server left are removed once they are old enough.
func TestSweeper(t *testing.T) {
	t.Parallel()
	shared(t, func(t *testing.T, o Options) {
		s := opened(t, o)
		mandator, err := s.AddMandator(t.Context(), "M")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddDocument(t.Context(), NewDocument{Folder: mandator, Name: "d", Created: time.Now(), Archived: time.Now()}, strings.NewReader("used")); err != nil {
			t.Fatal(err)
		}
		left, err := s.vault.Stage(t.Context(), strings.NewReader("left"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.vault.Publish(t.Context(), left), left.Discard()); err != nil {
			t.Fatal(err)
		}
		tick := make(chan time.Time)
		defer s.inBackground(t.Context(), (&sweeper{vault: s.vault, uses: s.db.Uses, log: s.log, tick: tick}).run)()
		for _, tt := range []struct {
			at   time.Time
			want int
		}{{time.Now(), 2}, {time.Now().Add(young + time.Hour), 1}} {
			tick <- tt.at
			tick <- time.Time{} // received when the sweep has ended
			kept := 0
			if err := s.EachContent(t.Context(), func(string) error { kept++; return nil }); err != nil || kept != tt.want {
				t.Errorf("%d contents, want %d, %v", kept, tt.want, err)
			}
		}
	})
}
