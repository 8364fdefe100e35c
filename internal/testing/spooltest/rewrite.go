package spooltest

import (
	"os"
	"testing"

	"github.com/archivefs/archivefs/internal/journal"
)

// Rewrite gives an upload of a closed spool another record, which it makes of the last one.
func Rewrite(t testing.TB, dir, id string, edit func(record []byte) []byte) {
	t.Helper()
	inJournal(t, dir, func(log *journal.Log, last map[string][]byte) error {
		_, err := log.Append(journal.Entry{Key: id, Kind: 'r', Durable: true, Body: edit(last[id])})
		return err
	})
}

// Orphan puts the bytes of an upload into a closed spool, without a record.
func Orphan(t testing.TB, dir, id string, content []byte) {
	t.Helper()
	inJournal(t, dir, func(log *journal.Log, _ map[string][]byte) error {
		_, err := log.Append(journal.Entry{Key: id, Kind: 'b', Durable: true, Body: content})
		return err
	})
}

// Spoil makes the last piece of an upload's bytes one that nobody wrote.
func Spoil(t testing.TB, dir, id string, content []byte) { t.Helper(); Orphan(t, dir, id, content) }

// inJournal changes the journal of a closed spool. last are the last records by id.
func inJournal(t testing.TB, dir string, change func(log *journal.Log, last map[string][]byte) error) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	last := map[string][]byte{}
	log, err := journal.Open(journal.Options{
		Dir: dir, Size: 256 << 10, Damaged: func(journal.Pos) {}, Move: func(journal.Pos) error { return nil },
		Replay: func(e journal.Replayed) {
			if e.Kind == 'r' {
				last[e.Key], _ = e.Whole()
			}
		},
	})
	if err == nil {
		err = change(log, last)
	}
	if err == nil {
		err = log.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
