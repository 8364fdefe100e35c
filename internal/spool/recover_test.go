package spool

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/journal"
)

func TestRecover(t *testing.T) {
	tests := []struct {
		name   string
		from   State
		damage func(t *testing.T, s *Spool, u *Upload)
		state  State
		reason string
	}{
		{name: "created", from: Created, state: Lost, reason: "never closed"},
		{name: "answered", from: Promised, state: Failed, reason: "never closed"},
		{name: "local", from: Local, state: Local},
		{name: "recalled", from: Recalled, state: Recalled},
		{name: "resting", from: Resting, state: Resting},
		{name: "queued", from: Queued, state: Queued},
		{name: "delivering", from: Delivering, state: Delivering},
		{name: "queued, data lost", from: Queued, damage: removeData, state: Lost, reason: "data is lost"},
		{name: "committed", from: Committed, state: Committed},
		{name: "sending", from: Sending, state: Sending},
		{name: "confirmed", from: Confirmed, state: Confirmed},
		{name: "failed", from: Lost, state: Lost, reason: "because"},
		{name: "confirmed, data moved away", from: Confirmed, damage: removeData, state: Confirmed},
		{name: "committed, data lost", from: Committed, damage: removeData, state: Lost, reason: "data is lost"},
		{name: "sending, data cut off", from: Sending, damage: cutData, state: Lost, reason: "has 2 bytes, 3 were written"},
		{name: "another file left", from: Committed, damage: func(t *testing.T, s *Spool, u *Upload) {
			scribble(t, filepath.Join(s.dir, dataPrefix+u.ID()), "another")
		}, state: Committed},
		{name: "no record", from: Committed, damage: noRecord, state: Unusable, reason: "record is lost"},
		{name: "empty record", from: Committed, damage: putRecord(""), state: Unusable, reason: "broken record"},
		{name: "half a record", from: Committed, damage: putRecord(`{"version":1,"id":`), state: Unusable, reason: "broken record"},
		{name: "later version", from: Committed, damage: putRecord(`{"version":2}`), state: Unusable, reason: "version 2"},
		{name: "data is a link", from: Committed, state: Lost, reason: "no file", damage: func(t *testing.T, s *Spool, u *Upload) {
			removeData(t, s, u)
			must(t, os.Symlink("/etc/hostname", u.DataPath()))
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := open(t, t.TempDir())
			u := inState(t, s, tc.from)
			healthy := committed(t, s, Record{Name: "beside"}, "beside")
			if tc.damage != nil {
				tc.damage(t, s, u)
			}
			s = reopen(t, s)
			first := again(t, s, u).Record()
			if first.State != tc.state || !strings.Contains(first.Reason, tc.reason) || first.ID != u.ID() {
				t.Fatalf("%s, reason %q; want %s, %q", first.State, first.Reason, tc.state, tc.reason)
			}
			wantState(t, again(t, s, healthy), Committed)
			s = reopen(t, s)
			if second := again(t, s, u).Record(); !reflect.DeepEqual(first, second) {
				t.Fatalf("recovery is not idempotent:\n%+v\n%+v", first, second)
			}
		})
	}
}

// toFile moves the bytes of an upload into its file.
func toFile(t *testing.T, u *Upload) {
	t.Helper()
	must(t, u.Open())
	u.content.mu.Lock()
	err := u.content.moveToFile()
	u.content.mu.Unlock()
	must(t, errors.Join(err, u.content.sync(), u.Close()))
}

func removeData(t *testing.T, _ *Spool, u *Upload) {
	t.Helper()
	toFile(t, u)
	must(t, os.Remove(u.DataPath()))
}

func cutData(t *testing.T, _ *Spool, u *Upload) {
	t.Helper()
	toFile(t, u)
	must(t, os.Truncate(u.DataPath(), 2))
}

// putRecord makes b the last record of an upload.
func putRecord(b string) func(*testing.T, *Spool, *Upload) {
	return func(t *testing.T, s *Spool, u *Upload) {
		t.Helper()
		_, err := s.journal.Append(journal.Entry{Key: u.ID(), Kind: isRecord, Durable: true, Body: []byte(b)})
		must(t, err)
	}
}

// noRecord leaves the bytes of an upload alone.
func noRecord(t *testing.T, s *Spool, u *Upload) {
	t.Helper()
	must(t, s.writeRemoval(u.ID(), false))
	_, err := s.journal.Append(journal.Entry{Key: u.ID(), Kind: isBytes, Body: []byte("abc")})
	must(t, err)
}

func TestBrokenUploadCanBeReadAndRemovedOnly(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), "abc")
	putRecord("{")(t, s, u)
	s = reopen(t, s)
	u = again(t, s, u)
	wantContent(t, u, []byte("abc"))
	for name, op := range map[string]func() error{
		"retry": func() error { return u.Retry(true) }, "reopen": u.Reopen, "update": func() error { return u.Update(func(*Record) {}) },
		"fail": func() error { return u.Fail("x", false) },
		"deliver": func() error {
			_, err := Deliver(t.Context(), u, newFake(), nil)
			return err
		},
	} {
		if err := op(); err == nil {
			t.Errorf("%s works on a record that cannot be read", name)
		}
	}
	must(t, u.Remove())
	if used, files := s.Usage(); used != 0 || files != 0 {
		t.Fatalf("%d bytes in %d files", used, files)
	}
}

func TestLeftoversGoAndStrangersStay(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lost+found", "UPPERCASE123"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	for _, name := range []string{dataPrefix + "000000000001", dataPrefix + "UPPERCASE123", probeName} {
		scribble(t, filepath.Join(dir, name), "x")
	}
	s, _ := open(t, dir)
	if len(s.List()) != 0 {
		t.Fatalf("%d uploads", len(s.List()))
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Fatalf("left: %v, %v", entries, err)
	}
}

// What stays in its folder as failed leaves it when it is written again and not closed, as a new file does.
func TestAFailedFileThatIsWrittenAgain(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := queued(t, s, "abc")
	must(t, u.Fail("refused later", false))
	s = reopen(t, s)
	u = again(t, s, u)
	wantState(t, u, Failed)
	must(t, u.Reopen())
	s = reopen(t, s)
	wantState(t, again(t, s, u), Lost)
}

func TestRecordIsWrittenInTheArchivesWords(t *testing.T) {
	s, _ := open(t, t.TempDir())
	r := lateBill()
	r.Metadata, r.ForceNew = []archive.KeyValue{{Key: "Kunde", Value: "17"}}, archive.FlagTrue
	u := committed(t, s, r, "abc")
	b, err := u.rec.Load().encode()
	must(t, err)
	got := string(b)
	for _, want := range []string{`"version":1`, `"state":"committed"`, `"folder":7`, `"name":"Mahnung.pdf"`, `"sha256":"` + sum("abc")} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	want := u.Record()
	if back := again(t, reopen(t, s), u).Record(); !reflect.DeepEqual(back, want) {
		t.Fatalf("read back as\n%+v\nwas\n%+v", back, want)
	}
}
