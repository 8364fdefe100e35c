package main

import (
	"encoding/json"
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
	var made []string // SHA-256 of the databases of the backups
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
		made = append(made, m.Database.SHA256)
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

	gate = keepBack(s3, http.MethodGet, digestOf(strings.Repeat(names[15], 100)))
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
