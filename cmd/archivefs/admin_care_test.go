package main

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/care"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
	"github.com/archivefs/archivefs/internal/testing/s3test"
)

// Whatever goes on meanwhile, a backup is the archive of one moment, with all that was
// answered before.
func TestBackupUnderLoad(t *testing.T) {
	b := startBusy(t)
	backup := filepath.Join(t.TempDir(), "backup")
	names := b.keep(20)
	stop := b.traffic()
	for range 2 { // the second one copies what is new
		if err := b.admin("backup", "--data", b.dir, backup); err != nil {
			t.Error(err)
		}
		b.wantRestored(backup, names)
		if err := b.admin("verify", "--data", b.dir); err != nil {
			t.Error(err)
		}
	}
	stop()
	b.stop()
	b.wantWhole(b.place, names)
}

// blocked replaces a content by a pipe, at which whoever copies waits until the bytes are fed.
type blocked struct {
	t       *testing.T
	path    string
	content []byte
}

func block(t *testing.T, path string) *blocked {
	t.Helper()
	content, err := os.ReadFile(path)
	if err := errors.Join(err, os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	return &blocked{t, path, content}
}

// feed lets the copy go on.
func (b *blocked) feed() {
	b.t.Helper()
	pipe, err := os.OpenFile(b.path, os.O_WRONLY, 0)
	if err == nil {
		_, err = pipe.Write(b.content)
	}
	if err := errors.Join(err, pipe.Close()); err != nil {
		b.t.Fatal(err)
	}
}

// restore puts the content back.
func (b *blocked) restore() {
	b.t.Helper()
	if err := errors.Join(os.Remove(b.path), os.WriteFile(b.path, b.content, 0o600)); err != nil {
		b.t.Fatal(err)
	}
}

// sorted are the files of all contents below a directory, in the order of their names.
func sorted(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "contents", "??", "*"))
	if err != nil || len(found) < 10 {
		t.Fatal(found, err)
	}
	slices.SortFunc(found, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	return found
}

// copying waits until something was copied to a directory.
func copying(t *testing.T, dir string) {
	t.Helper()
	heals(t, "something is copied", func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "contents", "incoming", "*"))
		return len(found) > 0
	})
}

// What is removed after the copy of the database was made is still copied.
func TestBackupOfWhatIsRemovedMeanwhile(t *testing.T) {
	b := startBusy(t)
	backup := filepath.Join(t.TempDir(), "backup")
	names := b.keep(20)
	b.rests()
	b.inPlace()
	files := sorted(t, b.dir)
	wait := block(t, files[5])
	p := start(t, "admin", "backup", "--data", b.dir, backup)
	copying(t, backup)
	for id := range int64(20) {
		if err := b.remove(id + 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(files[19]); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("it was not removed: %v", err)
	}
	// The pipe was removed with its document, and is held as the others are.
	wait.path = filepath.Join(b.dir, "contents", "held", filepath.Base(wait.path))
	wait.feed()
	p.wantExit(0)
	b.wantRestored(backup, names)
	b.stop()
	if left, _ := filepath.Glob(filepath.Join(b.dir, "contents", "*", "*")); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestKilledBackup(t *testing.T) {
	b := startBusy(t)
	backup := filepath.Join(t.TempDir(), "backup")
	names := b.keep(20)
	b.rests()
	b.inPlace()
	wait := block(t, sorted(t, b.dir)[5])
	p := start(t, "admin", "backup", "--data", b.dir, backup)
	copying(t, backup)
	p.signal(syscall.SIGKILL)
	p.wantExit(-1)
	wait.restore()
	if err := b.admin("restore", "--data", filepath.Join(t.TempDir(), "restored"), backup); err == nil || !strings.Contains(err.Error(), "there is no whole backup") {
		t.Errorf("half a backup is restored: %v", err)
	}
	if err := b.admin("backup", "--data", b.dir, backup); err != nil {
		t.Fatal(err)
	}
	b.wantRestored(backup, names)
	b.stop()
}

func TestKilledRestore(t *testing.T) {
	b := startBusy(t)
	backup, data := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	names := b.keep(20)
	if err := b.admin("backup", "--data", b.dir, backup); err != nil {
		t.Fatal(err)
	}
	b.stop()
	wait := block(t, sorted(t, backup)[5])
	p := start(t, "admin", "restore", "--data", data, backup)
	copying(t, data)
	p.signal(syscall.SIGKILL)
	p.wantExit(-1)
	wait.restore()
	if _, err := server.Open(t.Context(), server.Options{Data: data}); err == nil || !strings.Contains(err.Error(), "was interrupted") {
		t.Errorf("a service takes what is not whole: %v", err)
	}
	if err := b.admin("keys", "list", "--data", data); err == nil || !strings.Contains(err.Error(), "a restore into "+data+" is under way or was interrupted") {
		t.Errorf("the keys of what is not whole are listed: %v", err)
	}
	if err := b.admin("restore", "--data", data, backup); err != nil {
		t.Fatal(err)
	}
	b.wantWhole(care.Place{Data: data}, names)
}

func TestAdminBackupAndStats(t *testing.T) {
	isolate(t)
	dir, content := keptArchive(t)
	backup, data := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	want := func(status int, text string, args ...string) {
		t.Helper()
		got, stdout, stderr := call(t, append([]string{"admin"}, args...)...)
		if got != status || !strings.Contains(stdout+stderr, text) {
			t.Errorf("%q: exit status %d, want %d and %q: %s%s", args, got, status, text, stdout, stderr)
		}
	}
	want(2, "needs one operand", "backup", "--data", dir)
	want(2, "needs one operand", "restore", "--data", dir, "a", "b")
	want(2, "the operand of admin backup is empty", "backup", "--data", dir, "")
	want(2, "takes no operands", "stats", "x")
	want(2, "--blobs needs --database", "backup", "--blobs", "s3://bucket", backup)
	want(2, "--blobs needs --database", "restore", "--blobs", "s3://bucket", backup)
	want(0, "1 document, 1 content, 6 B, as of ", "backup", "--data", dir, backup)
	want(0, "1 content, 6 B: all is well\n", "verify", "--backup", backup)
	want(2, "does not go with --backup", "verify", "--backup", backup, "--remove-orphans")
	want(1, "there is no whole backup", "verify", "--backup", dir)
	want(0, "; 0 contents copied\n", "backup", "--data", dir, backup)
	want(0, "; 1 content copied\n", "restore", "--data", data, backup)
	want(0, "all is well", "verify", "--data", data)
	want(0, "inbox documents  1\n", "stats", "--data", data)
	want(0, "texts            0 yes, 1 waiting\n", "stats", "--data", data)
	_, stdout, _ := call(t, "admin", "stats", "--json", "--data", data)
	var totals struct {
		Documents, Bytes int64
		Inbox            int64 `json:"inbox-documents"`
	}
	if err := json.Unmarshal([]byte(stdout), &totals); err != nil || totals.Documents != 1 || totals.Bytes != 6 || totals.Inbox != 1 {
		t.Errorf("%v in %s", err, stdout)
	}
	if err := os.WriteFile(content, []byte("a scam"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "backup")
	want(1, "content "+filepath.Base(content)+" is missing or damaged in the archive", "backup", "--data", dir, other)
	want(1, "to see which documents need them: archivefs admin verify --data "+dir+"\n", "backup", "--data", dir, other)
	lost := filepath.Join(t.TempDir(), "restored")
	want(1, "content "+filepath.Base(content)+" is missing or damaged in the backup", "restore", "--data", lost, other)
	if status, _, stderr := call(t, "admin", "restore", "--data", dir, other); status != 1 || !strings.Contains(stderr, "is not empty") || strings.Contains(stderr, "is missing") {
		t.Errorf("a directory that is taken: exit status %d, %s", status, stderr)
	}
	want(1, "--partial restores the rest", "restore", "--data", filepath.Join(t.TempDir(), "lost"), other)
	want(1, "to see which documents need them: archivefs admin verify --backup "+other+"\n", "restore", "--data", filepath.Join(t.TempDir(), "lost"), other)
	want(1, "0 contents, 0 B", "restore", "--data", lost, "--partial", other)
	want(1, "1 missing", "verify", "--data", lost)
}

func digestOf(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

// inBucket is the place of a new archive in PostgreSQL and a bucket.
func inBucket(t *testing.T, s3 *s3test.Service, bucket string) care.Place {
	t.Helper()
	return care.Place{Database: pgtest.Database(t), Blobs: s3.Bucket(t, bucket), Data: t.TempDir()}
}

// Two instances are at work, and a backup is the archive of one moment all the same.
func TestBackupOfInstancesUnderLoad(t *testing.T) {
	s3 := s3test.Start(t)
	b := startBusyAt(t, inBucket(t, s3, "archive"), 2)
	backup := filepath.Join(t.TempDir(), "backup")
	names := b.keep(20)
	stop := b.traffic()
	for _, to := range []string{"first", "second"} { // the second one copies what is new
		if err := b.admin("backup", append(flagsOf(b.place), backup)...); err != nil {
			t.Error(err)
		}
		b.wantRestoredTo(inBucket(t, s3, to), backup, names)
		if err := b.admin("verify", flagsOf(b.place)...); err != nil {
			t.Error(err)
		}
	}
	stop()
	// What was removed while a backup ran goes when it has ended.
	heals(t, "nothing is left", func() bool { return b.admin("verify", append(flagsOf(b.place), "--grace", "0s")...) == nil })
	b.stop()
	b.wantWhole(b.place, names)
}

// An archive moves from a directory to PostgreSQL and a bucket, back, and there again.
func TestAnArchiveMoves(t *testing.T) {
	s3 := s3test.Start(t)
	b := startBusy(t)
	stop := b.traffic()
	names := b.keep(20)
	stop()
	b.stop()
	var made []string // the rows of the databases of the backups
	from := b.place
	for _, to := range []care.Place{
		inBucket(t, s3, "office"),
		{Data: filepath.Join(t.TempDir(), "data")},
		inBucket(t, s3, "another"),
		{Database: pgtest.Database(t), Data: t.TempDir()},
	} {
		backup := filepath.Join(t.TempDir(), "backup")
		if err := b.admin("backup", append(flagsOf(from), backup)...); err != nil {
			t.Fatal(err)
		}
		m, err := care.ReadManifest(backup)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, rowsOf(t, filepath.Join(backup, m.Database.File)))
		if err := b.admin("verify", "--backup", backup); err != nil {
			t.Error(err)
		}
		b.wantRestoredTo(to, backup, names)
		from = to
	}
	if made[1] != made[3] {
		t.Error("the copy of a database, restored, has another copy")
	}
}

// rowsOf is a database without the ids that it assigns next, which are others after each restore.
func rowsOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	work, rows := filepath.Join(dir, "work.db"), filepath.Join(dir, "rows.db")
	if err := os.WriteFile(work, text, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", work)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // it goes with the test
	for _, query := range []string{"DELETE FROM sqlite_sequence", "VACUUM INTO '" + rows + "'"} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	if text, err = os.ReadFile(rows); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keptBack keeps requests for an object from being answered until it is opened, or given up.
type keptBack struct {
	reached  chan struct{}
	open     func()
	giveUp   func()
	answered atomic.Int64 // requests for other contents with that method
}

func keepBack(s3 *s3test.Service, method, name string) *keptBack {
	opened, given := make(chan struct{}), make(chan struct{})
	k := &keptBack{
		reached: make(chan struct{}),
		open:    sync.OnceFunc(func() { close(opened) }), giveUp: sync.OnceFunc(func() { close(given) }),
	}
	reached := sync.OnceFunc(func() { close(k.reached) })
	s3.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method != method || len(filepath.Base(r.URL.Path)) != len(name):
			return false
		case filepath.Base(r.URL.Path) != name:
			s3.Pass(w, r)
			k.answered.Add(1)
			return true
		}
		reached()
		select {
		case <-opened:
			return false
		case <-given:
			panic(http.ErrAbortHandler)
		}
	})
	return k
}

// reachedBy waits until a program has asked for the object.
func (k *keptBack) reachedBy(p *program) {
	p.t.Helper()
	select {
	case <-k.reached:
	case err := <-p.done:
		p.done <- err
		p.t.Fatalf("it ended: %v: %s", err, p.said())
	}
}

// contents are the names of what a bucket holds, in order.
func contents(t *testing.T, s3 *s3test.Service, bucket string) (names []string) {
	t.Helper()
	for object := range s3.Client.ListObjectsIter(t.Context(), bucket, minio.ListObjectsOptions{}) {
		if object.Err != nil {
			t.Fatal(object.Err)
		}
		if len(object.Key) == 64 {
			names = append(names, object.Key)
		}
	}
	return names
}

// What is removed while a backup runs is still copied. What a backup that is killed has held is
// held no more.
func TestBackupOfWhatInstancesRemoveMeanwhile(t *testing.T) {
	s3 := s3test.Start(t)
	b := startBusyAt(t, inBucket(t, s3, "archive"), 2)
	backup := filepath.Join(t.TempDir(), "backup")
	names := b.keep(20)
	b.rests()
	all := contents(t, s3, "archive")
	gate := keepBack(s3, http.MethodGet, all[0])
	defer gate.open()
	p := start(t, append(append([]string{"admin", "backup"}, flagsOf(b.place)...), backup)...)
	gate.reachedBy(p)
	for id := range int64(10) {
		if err := b.remove(id + 1); err != nil {
			t.Fatal(err)
		}
	}
	if left := contents(t, s3, "archive"); len(left) != 20 {
		t.Errorf("%d contents are left, want 20", len(left))
	}
	gate.open()
	p.wantExit(0)
	b.wantRestored(backup, names)

	gate = keepBack(s3, http.MethodGet, digestOf(kept(names[15])))
	defer gate.open()
	other := filepath.Join(t.TempDir(), "backup")
	p = start(t, append(append([]string{"admin", "backup"}, flagsOf(b.place)...), other)...)
	gate.reachedBy(p)
	p.signal(syscall.SIGKILL)
	p.wantExit(-1)
	gate.giveUp()
	s3.Fail(nil)
	if _, err := care.ReadManifest(other); err == nil || !strings.Contains(err.Error(), "there is no whole backup") {
		t.Errorf("half a backup is whole: %v", err)
	}
	heals(t, "contents can be removed", func() bool {
		id, err := b.upload("passing.txt", "passing")
		if err == nil {
			err = b.remove(id)
		}
		if err != nil {
			t.Fatal(err)
		}
		return !slices.Contains(contents(t, s3, "archive"), digestOf("passing"))
	})
	if err := b.admin("backup", append(flagsOf(b.place), other)...); err != nil {
		t.Fatal(err)
	}
	b.wantRestored(other, names[10:])
	b.stop()
}

// A restore that is killed goes on where it was, and nobody takes what is not whole.
func TestKilledRestoreToABucket(t *testing.T) {
	s3 := s3test.Start(t)
	b := startBusy(t)
	backup, to := filepath.Join(t.TempDir(), "backup"), inBucket(t, s3, "restored")
	names := b.keep(20)
	if err := b.admin("backup", "--data", b.dir, backup); err != nil {
		t.Fatal(err)
	}
	b.stop()
	t.Setenv("TMPDIR", t.TempDir()) // where a killed restore leaves a copy of the database
	gate := keepBack(s3, http.MethodPut, filepath.Base(sorted(t, b.dir)[5]))
	defer gate.open()
	p := start(t, append(append([]string{"admin", "restore"}, flagsOf(to)...), backup)...)
	gate.reachedBy(p)
	heals(t, "the others are there", func() bool { return gate.answered.Load() == 19 })
	p.signal(syscall.SIGKILL)
	p.wantExit(-1)
	gate.giveUp()
	s3.Fail(nil)
	for _, command := range []string{"verify", "stats", "backup"} {
		args := flagsOf(to)
		if command == "backup" {
			args = append(args, t.TempDir())
		}
		if err := b.admin(command, args...); err == nil || !strings.Contains(err.Error(), "is not whole") {
			t.Errorf("%s takes what is not whole: %v", command, err)
		}
	}
	if _, err := server.Open(t.Context(), server.Options{Database: to.Database, Blobs: to.Blobs, Data: to.Data}); err == nil || !strings.Contains(err.Error(), "is not whole") {
		t.Errorf("a service takes what is not whole: %v", err)
	}
	status, stdout, stderr := call(t, append(append([]string{"admin", "restore", "--json"}, flagsOf(to)...), backup)...)
	var done struct{ Documents, Added int }
	if err := json.Unmarshal([]byte(stdout), &done); err != nil || status != 0 || done.Documents != 20 || done.Added != 1 {
		t.Errorf("exit status %d, %+v, %v: %s%s", status, done, err, stdout, stderr)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "archivefs-restore-*")); err != nil || len(left) > 0 {
		t.Errorf("the restore that was killed has left %v, %v", left, err)
	}
	b.wantWhole(to, names)
}
