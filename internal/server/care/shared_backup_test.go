package care_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/care"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
	"github.com/archivefs/archivefs/internal/testing/s3test"
)

// sharedPlaces are those of archives that several services can use, by name.
func sharedPlaces() map[string]func(t *testing.T) care.Place {
	return map[string]func(t *testing.T) care.Place{
		"a bucket": func(t *testing.T) care.Place {
			return care.Place{Database: pgtest.Database(t), Blobs: s3test.Bucket(t), Data: t.TempDir()}
		},
		"a shared directory": func(t *testing.T) care.Place {
			return care.Place{Database: pgtest.Database(t), Data: t.TempDir()}
		},
	}
}

// serve opens an archive as a service does.
func serve(t *testing.T, place care.Place) *server.Server {
	t.Helper()
	s, err := server.Open(t.Context(), server.Options{Database: place.Database, Blobs: place.Blobs, Data: place.Data})
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

// add adds a document whose content is its name, or nothing if it is called empty.
func add(t *testing.T, s *server.Server, folder archive.ID, name string, archived time.Time) {
	t.Helper()
	d := server.NewDocument{Folder: folder, Name: name, Created: day, Archived: archived}
	if _, err := s.AddDocument(t.Context(), d, strings.NewReader(strings.TrimPrefix(name, "empty"))); err != nil {
		t.Fatal(err)
	}
}

// wantAll fails unless an archive has so many documents and nothing is wrong with it.
func wantAll(t *testing.T, place care.Place, documents int64) {
	t.Helper()
	a, err := care.View(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	result, text := verifyArchive(t, a, care.Verification{})
	wantFindings(t, text, result, 0)
	if result.Documents != documents {
		t.Errorf("%d documents, want %d", result.Documents, documents)
	}
}

func backupOf(t *testing.T, place care.Place, dir string) care.Copied {
	t.Helper()
	done, err := care.Backup(t.Context(), place, dir, &care.Progress{})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// A backup of any kind of archive can be restored to any kind.
func TestBackupsBetweenKindsOfArchives(t *testing.T) {
	for name, newPlace := range sharedPlaces() {
		t.Run(name, func(t *testing.T) {
			place, dir := newPlace(t), filepath.Join(t.TempDir(), "backup")
			s := serve(t, place)
			mandator, err1 := s.AddMandator(t.Context(), "Muster GmbH")
			inbox, err2 := s.AddInbox(t.Context(), 1, "Inbox")
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			add(t, s, mandator, "a", day)
			add(t, s, mandator, "another", day)
			add(t, s, inbox, "empty", time.Time{})
			if done := backupOf(t, place, dir); done.Documents != 3 || done.Contents != 3 || done.Added != 3 || done.Bytes != 8 {
				t.Errorf("%+v", done)
			}
			add(t, s, inbox, "scan", time.Time{})
			if done := backupOf(t, place, dir); done.Documents != 4 || done.Added != 1 {
				t.Errorf("a second time: %+v", done)
			}
			wantAll(t, place, 4)
			data, _, err := restore(t, dir, false)
			if err != nil {
				t.Fatal(err)
			}
			wantWhole(t, data, 4)
			for name, newPlace := range sharedPlaces() {
				t.Run("to "+name, func(t *testing.T) {
					to, seen := newPlace(t), care.Progress{}
					done, err := care.Restore(t.Context(), dir, to, false, &seen)
					if err != nil || done.Documents != 4 || done.Added != 4 || seen.Contents.Load() != 4 || seen.Bytes.Load() != 12 || seen.RowsLeft.Load() != 0 {
						t.Fatalf("%+v, %+v, %v", done, &seen, err)
					}
					wantAll(t, to, 4)
					add(t, serve(t, to), mandator, "new", day)
					wantAll(t, to, 5)
					if _, err := care.Restore(t.Context(), dir, to, false, &seen); err == nil || !strings.Contains(err.Error(), "there is an archive in the database already") {
						t.Errorf("a second time: %v", err)
					}
				})
			}
		})
	}
}

// Contents that are damaged or missing in a bucket are reported, and the rest is copied.
func TestBackupOfADamagedBucket(t *testing.T) {
	s3, dir := s3test.Start(t), t.TempDir()
	place := care.Place{Database: pgtest.Database(t), Blobs: s3.Bucket(t, "archive"), Data: t.TempDir()}
	s := serve(t, place)
	mandator, err := s.AddMandator(t.Context(), "Muster GmbH")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		add(t, s, mandator, name, day)
	}
	_, err = s3.Client.PutObject(t.Context(), "archive", digestOf("b"), strings.NewReader("B"), 1, "", "", minio.PutObjectOptions{})
	if err := errors.Join(err, s3.Client.RemoveObject(t.Context(), "archive", digestOf("a"), minio.RemoveObjectOptions{})); err != nil {
		t.Fatal(err)
	}
	done := backupOf(t, place, dir)
	if done.Contents != 1 || len(done.Lacking) != 2 {
		t.Errorf("%+v", done)
	}
	to := sharedPlaces()["a bucket"](t)
	var lacking *care.LackingError
	if _, err := care.Restore(t.Context(), dir, to, false, &care.Progress{}); !errors.As(err, &lacking) || len(lacking.Digests) != 2 {
		t.Errorf("got %v", err)
	}
	if _, err := server.Open(t.Context(), server.Options{Database: to.Database, Blobs: to.Blobs, Data: to.Data}); err == nil || !strings.Contains(err.Error(), "is not whole") {
		t.Errorf("a service takes what is not whole: %v", err)
	}
	if done, err := care.Restore(t.Context(), dir, to, true, &care.Progress{}); err != nil || done.Contents != 1 || done.Added != 0 {
		t.Errorf("with the rest: %+v, %v", done, err)
	}
	a, err := care.View(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	result, text := verifyArchive(t, a, care.Verification{})
	wantFindings(t, text, result, 2, "missing: content "+digestOf("a"), "missing: content "+digestOf("b"))
}

// A restore takes the contents of no other archive, and then leaves the database as it was.
func TestARestoreBesideAnotherArchive(t *testing.T) {
	o, dir := newOffice(t), t.TempDir()
	backup(t, o, dir)
	for name, newPlace := range sharedPlaces() {
		t.Run(name, func(t *testing.T) {
			taken, to := newPlace(t), newPlace(t)
			serve(t, taken)
			wrong := care.Place{Database: to.Database, Blobs: taken.Blobs, Data: taken.Data}
			if _, err := care.Restore(t.Context(), dir, wrong, false, &care.Progress{}); !errors.Is(err, blob.ErrForeign) {
				t.Errorf("got %v", err)
			}
			serve(t, to)
		})
	}
	wrong := care.Place{Database: pgtest.Database(t), Data: o.dir}
	if _, err := care.Restore(t.Context(), dir, wrong, false, &care.Progress{}); err == nil || !strings.Contains(err.Error(), "there is an archive in "+o.dir+" already") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(o.dir, "contents", "archive-id")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the contents of an archive have another owner: %v", err)
	}
}

// If a restore was attempted with several places, only the last one belongs to the archive.
func TestARestoreThatGoesOnElsewhere(t *testing.T) {
	o, whole, half := newOffice(t), t.TempDir(), t.TempDir()
	backup(t, o, whole)
	backup(t, o, half)
	if err := os.Remove(filepath.Join(half, "contents", o.digests["scan"][:2], o.digests["scan"])); err != nil {
		t.Fatal(err)
	}
	for name, newPlace := range sharedPlaces() {
		t.Run(name, func(t *testing.T) {
			first, second, to := newPlace(t), newPlace(t), newPlace(t)
			second.Database, to.Database = first.Database, first.Database
			for _, place := range []care.Place{first, first, second} {
				var lacking *care.LackingError
				if _, err := care.Restore(t.Context(), half, place, false, &care.Progress{}); !errors.As(err, &lacking) {
					t.Fatalf("got %v", err)
				}
			}
			if _, err := care.Restore(t.Context(), whole, first, false, &care.Progress{}); !errors.Is(err, blob.ErrForeign) {
				t.Errorf("back again: %v", err)
			}
			// Killed after choosing the id, and before claiming a place.
			held, killed, err := store.RestorePostgres(t.Context(), to.Database)
			if err == nil {
				err = errors.Join(killed.Rename(held), killed.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := care.Restore(t.Context(), whole, to, false, &care.Progress{}); err != nil {
				t.Fatal(err)
			}
			wantAll(t, to, 4)
			for _, place := range []care.Place{first, second} {
				s, err := server.Open(t.Context(), server.Options{Database: place.Database, Blobs: place.Blobs, Data: place.Data})
				if !errors.Is(err, blob.ErrForeign) {
					t.Errorf("a service takes the contents of an attempt: %v, %v", s, err)
				}
			}
			serve(t, to)
		})
	}
}

// What came after the backup had ids, by which mounts may know contents. Nothing gets them again.
func TestRestoredArchivesAssignNewIDs(t *testing.T) {
	from, dir := care.Place{Data: t.TempDir()}, filepath.Join(t.TempDir(), "backup")
	s := serve(t, from)
	if _, err := s.AddMandator(t.Context(), "Muster GmbH"); err != nil {
		t.Fatal(err)
	}
	backupOf(t, from, dir) // without any document
	after, err := s.AddMandator(t.Context(), "after the backup")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := s.AddDocument(t.Context(), server.NewDocument{Folder: after, Name: "a", Created: day, Archived: day}, strings.NewReader("a"))
	if err != nil {
		t.Fatal(err)
	}
	places := sharedPlaces()
	places["a data directory"] = func(t *testing.T) care.Place { return care.Place{Data: filepath.Join(t.TempDir(), "restored")} }
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			to := newPlace(t)
			if _, err := care.Restore(t.Context(), dir, to, false, &care.Progress{}); err != nil {
				t.Fatal(err)
			}
			s := serve(t, to)
			folder, err := s.AddMandator(t.Context(), "new")
			if err != nil || folder <= after {
				t.Errorf("the folder %d, %v; one after the backup was %d", folder, err, after)
			}
			again, err := s.AddDocument(t.Context(), server.NewDocument{Folder: folder, Name: "b", Created: day, Archived: day}, strings.NewReader("b"))
			if err != nil || again <= doc {
				t.Errorf("the document %d, %v; one after the backup was %d", again, err, doc)
			}
		})
	}
}

// A restore that is refused leaves nothing behind.
func TestARefusedRestoreMakesNothing(t *testing.T) {
	o, dir := newOffice(t), t.TempDir()
	backup(t, o, dir)
	place := sharedPlaces()["a shared directory"](t)
	serve(t, place)
	place.Data = filepath.Join(t.TempDir(), "new")
	if _, err := care.Restore(t.Context(), dir, place, false, &care.Progress{}); err == nil || !strings.Contains(err.Error(), "there is an archive in the database already") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(place.Data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a directory: %v", err)
	}
}

// A backup is taken of the contents that belong to the database, and of no others.
func TestBackupOfTheWrongContents(t *testing.T) {
	place := sharedPlaces()["a bucket"](t)
	serve(t, place)
	wrong := care.Place{Database: place.Database, Data: t.TempDir()}
	if _, err := care.Backup(t.Context(), wrong, t.TempDir(), &care.Progress{}); !errors.Is(err, blob.ErrUnclaimed) {
		t.Errorf("got %v", err)
	}
}

// A failure of the bucket's service while a content is copied does not make the content a missing one.
func TestBackupWhileTheBucketIsAway(t *testing.T) {
	s3 := s3test.Start(t)
	place := care.Place{Database: pgtest.Database(t), Blobs: s3.Bucket(t, "archive"), Data: t.TempDir()}
	s := serve(t, place)
	mandator, err := s.AddMandator(t.Context(), "Muster GmbH")
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, mandator, "a", day)
	dir := t.TempDir()
	s3.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, digestOf("a")) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	if _, err := care.Backup(t.Context(), place, dir, &care.Progress{}); archive.KindOf(err) != archive.KindUnreachable {
		t.Errorf("got %v", err)
	}
	s3.Fail(nil)
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a backup is whole: %v", err)
	}
	if done := backupOf(t, place, dir); done.Contents != 1 {
		t.Errorf("%+v", done)
	}
}

// A backup that loses its connection to the database does not know what was removed, and fails.
func TestABackupThatLosesItsHold(t *testing.T) {
	s3 := s3test.Start(t)
	place := care.Place{Database: pgtest.Database(t), Blobs: s3.Bucket(t, "archive"), Data: t.TempDir()}
	s, err := server.Open(t.Context(), server.Options{Database: place.Database, Blobs: place.Blobs, Data: place.Data})
	if err != nil {
		t.Fatal(err)
	}
	mandator, err := s.AddMandator(t.Context(), "Muster GmbH")
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, mandator, "a", day)
	if err := s.Close(); err != nil { // its indexer would read the content, too
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", place.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // a request that is repeated would end the connection that ends the others
	s3.Fail(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, digestOf("a")) {
			_, err := db.ExecContext(context.WithoutCancel(r.Context()), `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
				WHERE pid != pg_backend_pid() AND datname = current_database()`)
			if err != nil {
				t.Error(err)
			}
		}
		return false
	})
	dir := t.TempDir()
	if _, err := care.Backup(t.Context(), place, dir, &care.Progress{}); err == nil || !strings.Contains(err.Error(), "the backup lost its connection to the database") {
		t.Errorf("got %v", err)
	}
	if _, err := care.ReadManifest(dir); err == nil {
		t.Error("it is taken for whole")
	}
	s3.Fail(nil)
	if done := backupOf(t, place, dir); done.Contents != 1 {
		t.Errorf("%+v", done)
	}
}
