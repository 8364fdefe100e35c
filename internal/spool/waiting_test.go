package spool

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/archivefs/archivefs/internal/journal"
)

func TestWaiting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	want := func(n int) {
		t.Helper()
		if got, err := Waiting(dir); got != n || err != nil {
			t.Errorf("%d wait, %v; want %d", got, err, n)
		}
	}
	want(0)
	s, _ := open(t, dir)
	want(0)
	for n, state := range []State{Created, Committed, Sending, Lost} {
		inState(t, s, state)
		want(n + 1)
	}
	inState(t, s, Confirmed)
	local := create(t, s, Record{Name: "letter.part"}, "abc")
	want(5) // it was not closed
	must(t, keep(local))
	want(4)
	_, err := s.journal.Append(journal.Entry{Key: someID, Kind: isBytes, Body: []byte("abc")}) // without a record
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(dir, "lost+found"), 0o700))
	want(5)
	left, err := LeftIn(dir)
	if want := (Left{Pending: 1, Bytes: left.Bytes, Failed: 4, Local: 1}); err != nil || left != want || left.Bytes == 0 {
		t.Errorf("left are %+v, %v; want %+v", left, err, want)
	}
	if left.Failed--; s.Left() != left { // the one that has no record is not known to it
		t.Errorf("the spool says %+v, want %+v", s.Left(), left)
	}
}
