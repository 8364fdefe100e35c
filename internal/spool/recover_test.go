package spool

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

func TestRecover(t *testing.T) {
	tests := []struct {
		name   string
		from   State
		damage func(dir string) error // to the upload's directory
		state  State
		reason string
		broken bool
	}{
		{name: "created", from: Created, state: Failed, reason: "never closed"},
		{name: "committed", from: Committed, state: Committed},
		{name: "sending", from: Sending, state: Sending},
		{name: "confirmed", from: Confirmed, state: Confirmed},
		{name: "failed", from: Failed, state: Failed, reason: "because"},
		{name: "confirmed, data moved away", from: Confirmed, damage: removeData, state: Confirmed},
		{name: "committed, data lost", from: Committed, damage: removeData, state: Failed, reason: "data is lost"},
		{name: "sending, data cut off", from: Sending, damage: putData("ab"), state: Failed, reason: "has 2 bytes, 3 were written"},
		{name: "temporary file left", from: Committed, damage: putFile(".tmp-1", "{"), state: Committed},
		{name: "no record", from: Committed, damage: removeFile(recordFile), state: Failed, reason: "record cannot be opened", broken: true},
		{name: "empty record", from: Committed, damage: putFile(recordFile, ""), state: Failed, reason: "broken record", broken: true},
		{name: "half a record", from: Committed, damage: putFile(recordFile, `{"version":1,"id":`), state: Failed, reason: "broken record", broken: true},
		{name: "later version", from: Committed, damage: putFile(recordFile, `{"version":2}`), state: Failed, reason: "version 2", broken: true},
		{
			name: "data is a link", from: Committed, state: Failed, reason: "no file",
			damage: func(dir string) error {
				if err := removeData(dir); err != nil {
					return err
				}
				return os.Symlink("/etc/hostname", dataIn(dir))
			},
		},
		{
			name: "record is a link", from: Committed, state: Failed, reason: "cannot be opened", broken: true,
			damage: func(dir string) error {
				if err := os.Rename(filepath.Join(dir, recordFile), filepath.Join(dir, "elsewhere")); err != nil {
					return err
				}
				return os.Symlink("elsewhere", filepath.Join(dir, recordFile))
			},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := open(t, t.TempDir())
			u := inState(t, s, tc.from)
			healthy := committed(t, s, Record{Name: "beside"}, "beside")
			dir := filepath.Join(s.dir, u.ID())
			if tc.damage != nil {
				must(t, tc.damage(dir))
			}
			kept := readFile(filepath.Join(dir, recordFile))
			s = reopen(t, s)
			first := again(t, s, u).Record()
			if first.State != tc.state || !strings.Contains(first.Reason, tc.reason) || first.ID != u.ID() {
				t.Fatalf("%s, reason %q; want %s, %q", first.State, first.Reason, tc.state, tc.reason)
			}
			wantState(t, again(t, s, healthy), Committed)
			if tc.broken && readFile(filepath.Join(dir, recordFile)) != kept {
				t.Fatal("a record that cannot be read was changed")
			}
			s = reopen(t, s)
			if second := again(t, s, u).Record(); !reflect.DeepEqual(first, second) {
				t.Fatalf("recovery is not idempotent:\n%+v\n%+v", first, second)
			}
		})
	}
}

func removeFile(name string) func(string) error {
	return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
}

// dataIn is the path of the data of the upload whose directory is dir.
func dataIn(dir string) string { return filepath.Join(dir, dataFile(filepath.Base(dir))) }

func removeData(dir string) error { return os.Remove(dataIn(dir)) }

func putData(data string) func(string) error {
	return func(dir string) error { return os.WriteFile(dataIn(dir), []byte(data), 0o600) }
}

func putFile(name, data string) func(string) error {
	return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600) }
}

// readFile is the content of a file, empty without one.
func readFile(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

func TestBrokenUploadCanBeReadAndRemovedOnly(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), "abc")
	must(t, putFile(recordFile, "{")(filepath.Join(s.dir, u.ID())))
	s = reopen(t, s)
	u = again(t, s, u)
	wantContent(t, u, []byte("abc"))
	for name, op := range map[string]func() error{
		"retry": u.RetryAsItIs, "reopen": u.Reopen, "update": func() error { return u.Update(func(*Record) {}) },
		"fail": func() error { return u.Fail("x", Failure{}) },
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
	for _, name := range []string{".new-000000000001", ".trash-000000000002", "lost+found", "UPPERCASE123"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		scribble(t, dataIn(filepath.Join(dir, name)), "x")
	}
	scribble(t, filepath.Join(dir, "000000000003"), "a file, no directory")
	s, _ := open(t, dir)
	if len(s.List()) != 0 {
		t.Fatalf("%d uploads", len(s.List()))
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Fatalf("left: %v, %v", entries, err)
	}
}

func TestVisibleSurvivesUntilItIsWrittenAgain(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), "abc")
	must(t, u.Fail("refused later", Failure{Visible: true}))
	must(t, u.Reopen())
	s = reopen(t, s)
	u = again(t, s, u)
	if r := u.Record(); r.State != Failed || !r.Visible {
		t.Fatalf("what a close had accepted left its folder: %+v", r)
	}
	must(t, u.Reopen())
	must(t, u.Commit())
	if u.Record().Visible {
		t.Fatal("a new close has not been answered yet")
	}
}

func TestRecordIsWrittenInTheArchivesWords(t *testing.T) {
	s, _ := open(t, t.TempDir())
	r := lateBill()
	r.Metadata, r.ForceNew = []archive.KeyValue{{Key: "Kunde", Value: "17"}}, archive.FlagTrue
	u := committed(t, s, r, "abc")
	got := readFile(filepath.Join(s.dir, u.ID(), recordFile))
	for _, want := range []string{`"version":1`, `"state":"committed"`, `"folder":7`, `"name":"Mahnung.pdf"`, `"sha256":"` + sum("abc")} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	want := u.Record()
	want.Boot = "" // the next run makes durable what it finds
	if back := again(t, reopen(t, s), u).Record(); !reflect.DeepEqual(back, want) {
		t.Fatalf("read back as\n%+v\nwas\n%+v", back, want)
	}
}
