package spool

import "github.com/archivefs/archivefs/internal/journal"

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
	case r.State == Local && size > 0:
		l.Local++
	case r.State == Confirmed, r.State == Local:
	case r.State.InFlight(), r.State.InQueue():
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
	found := newLeft()
	done, err := journal.Read(dir, found.replay)
	if err != nil {
		return l, err
	}
	done()
	for id, u := range found.uploads {
		switch r, err := u.decode(id); {
		case !validID(id):
		case err != nil:
			l.Failed++
		default:
			l.add(&r, r.Size)
		}
	}
	return l, nil
}

// Waiting counts what lies in the spool at dir and belongs into the archive: what is pending or
// failed, without local files.
func Waiting(dir string) (int, error) {
	l, err := LeftIn(dir)
	return l.Pending + l.Failed, err
}
