package spool

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/archivefs/archivefs/internal/redolog"
)

// Left counts what is in a spool and not in the archive, as the next run finds it.
type Left struct {
	Pending int   // uploads that go on then
	Bytes   int64 // of them
	InDoubt int   // of them, those that wait and may still arrive (Record.WaitsInDoubt)
	Failed  int   // uploads that wait for somebody to decide
	Local   int   // files that hold something and stay on this machine
}

// add counts an upload of that record and size.
func (l *Left) add(r *Record, size int64) {
	switch {
	case r.StaysHere() && size > 0:
		l.Local++
	case r.State == Confirmed, r.StaysHere():
	case r.State == Sending, r.Queued:
		l.Pending++
		l.Bytes += size
		if r.WaitsInDoubt() {
			l.InDoubt++
		}
	default: // also what was cut off: not closed yet, or not sent before its close ended
		l.Failed++
	}
}

// Left counts what the archive does not have.
func (s *Spool) Left() (l Left) {
	for _, up := range s.List() {
		l.add(up.rec.Load(), up.Size())
	}
	return l
}

// LeftIn counts what is in the spool at dir, without opening it. What cannot be read counts as
// failed. While a process uses the spool the figures may be a moment old.
func LeftIn(dir string) (l Left, err error) {
	ids, last, err := idsIn(dir)
	if err != nil {
		return l, err
	}
	for id := range ids {
		upload := filepath.Join(dir, id)
		r, _, err := readRecord(filepath.Join(upload, recordFile), id)
		if logged, ok := last[id]; ok { // after a crash of the machine the log knows more
			switch then, broken := decode(logged.record, id); {
			case logged.kind == isGone, wasHidden(dir, id):
				continue
			case broken == nil && (err != nil || then.Changed.After(r.Changed)):
				r, err = then, nil
			}
		}
		switch _, gone := os.Lstat(upload); {
		case err == nil:
			l.add(&r, r.Size)
		case gone == nil: // else it was archived meanwhile
			l.Failed++
		}
	}
	return l, nil
}

// idsIn returns the ids of the uploads in the spool at dir, and what its redo log says of them.
func idsIn(dir string) (ids map[string]bool, last map[string]logged, err error) {
	entries, done, err := redolog.Read(filepath.Clean(dir) + redoSuffix)
	if err != nil {
		return nil, nil, err
	}
	last = lastOf(entries)
	done()
	ids = map[string]bool{}
	for id := range last {
		ids[id] = true
	}
	names, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	for _, e := range names {
		if validID(e.Name()) {
			ids[e.Name()] = true
		}
	}
	return ids, last, nil
}

// Waiting counts what lies in the spool at dir and belongs into the archive: what is pending or
// failed, without local files.
func Waiting(dir string) (int, error) {
	l, err := LeftIn(dir)
	return l.Pending + l.Failed, err
}
