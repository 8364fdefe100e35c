package spool

import (
	"cmp"
	"slices"

	"github.com/archivefs/archivefs/internal/journal"
)

// piece is bytes of a content that lie in one entry of the journal.
type piece struct {
	off, size int64 // in the content
	journal.Written
}

// pieces are in their order, and none covers another. What lies between them is zeros.
type pieces []piece

// write returns the pieces after p was written over what was there.
func (all pieces) write(p piece) pieces {
	end := p.off + p.size
	next := append(make(pieces, 0, len(all)+2), p)
	for _, was := range all {
		if n := min(was.off+was.size, p.off) - was.off; n > 0 {
			next = append(next, piece{was.off, n, was.Written})
		}
		if n := was.off + was.size - max(was.off, end); n > 0 {
			skip := was.size - n
			next = append(next, piece{was.off + skip, n, journal.Written{At: was.At, Bytes: was.Bytes + journal.Pos(skip)}})
		}
	}
	slices.SortFunc(next, func(a, b piece) int { return cmp.Compare(a.off, b.off) })
	return next
}

// cut returns what is left of the pieces when the content has size bytes.
func (all pieces) cut(size int64) (next pieces) {
	for _, p := range all {
		if p.size = min(p.size, size-p.off); p.size > 0 {
			next = append(next, p)
		}
	}
	return next
}

// has reports whether a piece lies in the entry at a place.
func (all pieces) has(at journal.Pos) bool {
	return slices.ContainsFunc(all, func(p piece) bool { return p.At == at })
}

// read reads bytes of the content that begin at off.
func (all pieces) read(log *journal.Log, p []byte, off int64) error {
	clear(p)
	for _, is := range all {
		from, to := max(is.off, off), min(is.off+is.size, off+int64(len(p)))
		if from >= to {
			continue
		}
		if err := log.ReadAt(p[from-off:to-off], is.Bytes+journal.Pos(from-is.off)); err != nil {
			return err
		}
	}
	return nil
}
