package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/journal"
)

func TestEverythingIsPrivateAndNamedByID(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "spool")
	s, _ := open(t, dir)
	for _, name := range []string{"../../etc/passwd", "a/b", ".", "..", "", "record.json", "data"} {
		u := committed(t, s, Record{Name: name, Path: "../x", Local: []string{".."}}, "x")
		must(t, u.Update(func(r *Record) { r.Name += "/.." }))
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if n := e.Name(); path != dir && !journal.IsFile(n) {
			t.Errorf("unexpected name %q", n)
		}
		return nil
	})
	must(t, err)
}

func TestOneProcessAtATime(t *testing.T) {
	s, _ := open(t, t.TempDir())
	if _, err := Open(Options{Dir: s.dir}); !errors.Is(err, ErrLocked) {
		t.Fatalf("a second process got the spool: %v", err)
	}
	reopen(t, s)
}

func TestOpenWhereNoneCanBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	scribble(t, file, "")
	if _, err := Open(Options{Dir: filepath.Join(file, "spool")}); err == nil {
		t.Fatal("a spool below a file")
	}
}

func TestIDsAscendAlsoWhenTheClockDoesNot(t *testing.T) {
	s, c := open(t, t.TempDir())
	var last string
	next := func() {
		t.Helper()
		u := create(t, s, Record{Name: "x"}, "x")
		if u.ID() <= last || !validID(u.ID()) {
			t.Fatalf("%q after %q", u.ID(), last)
		}
		last = u.ID()
	}
	next()
	next()
	c.t = c.t.Add(-time.Hour)
	next()
	s = reopen(t, s, func(o *Options) { o.Now = func() time.Time { return time.Unix(0, 0) } })
	next()
	list := s.List()
	for i, u := range list {
		if got, ok := s.Get(u.ID()); !ok || got != u || i > 0 && list[i-1].ID() >= u.ID() {
			t.Fatalf("list is not in order at %d", i)
		}
	}
	if _, ok := s.Get("../../etc"); ok || len(list) != 4 {
		t.Fatalf("%d uploads", len(list))
	}
}

func TestCreateLeavesNothingWhenItFails(t *testing.T) {
	boom := errors.New("disk failed")
	s, _ := open(t, t.TempDir(), func(o *Options) {
		o.Fault = func(p Point) error {
			if p == PointCreated {
				return boom
			}
			return nil
		}
	})
	if _, err := s.Create(Record{Name: "x"}); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if _, err := s.Create(Record{Name: "\xff"}); err == nil {
		t.Fatal("a name that a record cannot keep")
	}
	must(t, s.Close())
	entries, err := os.ReadDir(s.dir)
	if err != nil || len(entries) != 0 || len(s.List()) != 0 {
		t.Fatalf("left behind: %v, %v", entries, err)
	}
}
