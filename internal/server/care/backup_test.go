package care_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/care"
	"github.com/archivefs/archivefs/internal/server/datalock"
)

func backup(t *testing.T, o *office, dir string) care.Copied {
	t.Helper()
	done, err := care.Backup(t.Context(), o.place(), dir, &care.Progress{})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func restore(t *testing.T, dir string, partial bool) (data string, done care.Copied, err error) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "restored")
	done, err = care.Restore(t.Context(), dir, care.Place{Data: data}, partial, &care.Progress{})
	return data, done, err
}

// wantWhole fails unless verify accepts a data directory and a service can open it.
func wantWhole(t *testing.T, data string, documents int64) {
	t.Helper()
	result, text := verify(t, data, care.Verification{})
	wantFindings(t, text, result, 0)
	if result.Documents != documents {
		t.Errorf("%d documents, want %d", result.Documents, documents)
	}
	s, err := server.Open(t.Context(), server.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBackupAndRestore(t *testing.T) {
	o, dir := newOffice(t), filepath.Join(t.TempDir(), "backup")
	if done := backup(t, o, dir); done.Documents != 4 || done.Contents != 3 || done.Added != 3 {
		t.Errorf("%+v", done)
	}
	o.orphan("nobody's", 0)
	if done := backup(t, o, dir); done.Contents != 3 || done.Added != 0 {
		t.Errorf("a second time: %+v", done)
	}
	data, done, err := restore(t, dir, false)
	if err != nil || done.Contents != 3 || done.Added != 3 {
		t.Fatalf("%+v, %v", done, err)
	}
	wantWhole(t, data, 4)
}

func TestBackupsFollowTheArchive(t *testing.T) {
	o, dir := newOffice(t), t.TempDir()
	backup(t, o, dir)
	o.spoil("DELETE FROM document WHERE name = 'c'")
	if done := backup(t, o, dir); done.Contents != 2 || done.Added != 0 {
		t.Errorf("%+v", done)
	}
	left, err := filepath.Glob(filepath.Join(dir, "contents", "??", "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("left are %v, %v", left, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "archive-*")); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
}

// The previous backup stays valid while the next one is made.
func TestAnInterruptedBackup(t *testing.T) {
	o, dir := newOffice(t), t.TempDir()
	backup(t, o, dir)
	o.spoil("UPDATE document SET name = 'other' WHERE name = 'c'")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := care.Backup(ctx, o.place(), dir, &care.Progress{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(o.dir, "contents", "held")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("contents are still held: %v", err)
	}
	data, _, err := restore(t, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	wantWhole(t, data, 4)
}

// Leftovers of an attempt with another backup are removed.
func TestAnInterruptedRestoreOfAnotherBackup(t *testing.T) {
	o, one, other := newOffice(t), t.TempDir(), t.TempDir()
	backup(t, o, other)
	s, err := server.Open(t.Context(), server.Options{Data: o.dir})
	if err != nil {
		t.Fatal(err)
	}
	mandator, err := s.AddMandator(t.Context(), "Andere GmbH")
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, mandator, "new", day)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	backup(t, o, one)
	if err := os.Remove(filepath.Join(one, "contents", o.digests["scan"][:2], o.digests["scan"])); err != nil {
		t.Fatal(err)
	}
	data, _, err := restore(t, one, false)
	var lacking *care.LackingError
	if !errors.As(err, &lacking) {
		t.Fatalf("got %v", err)
	}
	if _, err := care.ViewData(t.Context(), data); err == nil || !strings.Contains(err.Error(), "was interrupted") {
		t.Errorf("it is read: %v", err)
	}
	if done, err := care.Restore(t.Context(), other, care.Place{Data: data}, false, &care.Progress{}); err != nil || done.Contents != 3 || done.Added != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if left, err := filepath.Glob(filepath.Join(data, "contents", "??", "*")); err != nil || len(left) != 3 {
		t.Errorf("left are %v, %v", left, err)
	}
	wantWhole(t, data, 4)
}

func TestBackupOfADamagedArchive(t *testing.T) {
	o, dir := newOffice(t), t.TempDir()
	if err := errors.Join(os.WriteFile(o.path(o.digests["scan"]), []byte("a scam"), 0o600), os.Remove(o.path(o.digests["c"]))); err != nil {
		t.Fatal(err)
	}
	done := backup(t, o, dir)
	if done.Contents != 1 || len(done.Lacking) != 2 || !strings.Contains(strings.Join(done.Lacking, " "), o.digests["scan"]) {
		t.Errorf("%+v", done)
	}
	data, _, err := restore(t, dir, true)
	if err != nil {
		t.Fatal(err)
	}
	result, text := verify(t, data, care.Verification{})
	wantFindings(t, text, result, 2, "missing: content "+o.digests["scan"], "missing: content "+o.digests["c"])
}

func TestADamagedBackup(t *testing.T) {
	tests := []struct {
		name   string
		damage func(o *office, dir string) error
		want   string
	}{
		{"a content", func(o *office, dir string) error {
			return os.WriteFile(filepath.Join(dir, "contents", o.digests["scan"][:2], o.digests["scan"]), []byte("a scam"), 0o600)
		}, "1 contents are missing or damaged in the backup, the first is " + digestOf("a scan")},
		{"no content", func(o *office, dir string) error {
			return os.Remove(filepath.Join(dir, "contents", o.digests["scan"][:2], o.digests["scan"]))
		}, "the first is " + digestOf("a scan")},
		{"the database", func(_ *office, dir string) error {
			found, _ := filepath.Glob(filepath.Join(dir, "archive-*.db"))
			return os.Truncate(found[0], 8192)
		}, "has another SHA-256"},
		{"no manifest", func(_ *office, dir string) error { return os.Remove(filepath.Join(dir, "manifest.json")) }, "there is no whole backup"},
		{"half a manifest", func(_ *office, dir string) error { return os.Truncate(filepath.Join(dir, "manifest.json"), 40) }, "is damaged"},
		{"another format", func(_ *office, dir string) error {
			return os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(`{"format":2}`), 0o600)
		}, "use a newer archivefs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, dir := newOffice(t), t.TempDir()
			backup(t, o, dir)
			if err := tt.damage(o, dir); err != nil {
				t.Fatal(err)
			}
			data, done, err := restore(t, dir, false)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v", err)
			}
			var lacking *care.LackingError
			if !errors.As(err, &lacking) {
				return
			}
			if _, err := server.Open(t.Context(), server.Options{Data: data}); err == nil || !strings.Contains(err.Error(), "a restore into") {
				t.Errorf("a service takes what is not whole: %v", err)
			}
			if len(done.Lacking) != 1 || done.Lacking[0] != o.digests["scan"] {
				t.Errorf("lacking are %v", done.Lacking)
			}
			if _, err := care.Restore(t.Context(), dir, care.Place{Data: data}, true, &care.Progress{}); err != nil {
				t.Fatal(err)
			}
			result, text := verify(t, data, care.Verification{})
			wantFindings(t, text, result, 1, "missing: content "+o.digests["scan"])
		})
	}
}

func TestWhereNothingIsWritten(t *testing.T) {
	o, dir, other := newOffice(t), t.TempDir(), t.TempDir()
	backup(t, o, dir)
	if err := os.WriteFile(filepath.Join(other, "letter.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, taken := range []string{o.dir, other} {
		if _, err := care.Backup(t.Context(), o.place(), taken, &care.Progress{}); err == nil || !strings.Contains(err.Error(), "is not empty, and holds no backup") {
			t.Errorf("backup to %s: %v", taken, err)
		}
		if _, err := care.Restore(t.Context(), dir, care.Place{Data: taken}, false, &care.Progress{}); err == nil || !strings.Contains(err.Error(), "is not empty") {
			t.Errorf("restore to %s: %v", taken, err)
		}
	}
	if _, err := care.Backup(t.Context(), care.Place{Data: other}, t.TempDir(), &care.Progress{}); err == nil || !strings.Contains(err.Error(), "there is no archive in") {
		t.Errorf("backup of nothing: %v", err)
	}
	wantWhole(t, o.dir, 4)
}

// The error for a backup under way names the process that makes it.
func TestTwoBackupsAtATime(t *testing.T) {
	o, dir := newOffice(t), t.TempDir()
	lock, err := datalock.TakeBackup(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s is in use by process %d: another backup goes there", dir, os.Getpid())
	if _, err := care.Backup(t.Context(), o.place(), dir, &care.Progress{}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := lock.Release(true); err != nil {
		t.Fatal(err)
	}
	backup(t, o, dir)
}
