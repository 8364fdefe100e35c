package staging

import (
	"slices"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/whole"
)

// StaysHere reports whether a file is never uploaded under the name in its record.
func StaysHere(r *spool.Record) bool { return r.Temporary || len(r.Local) > 0 }

// IsHeldBack reports whether a whole document stays here because of its name: perhaps somebody waits for it.
func IsHeldBack(up *spool.Upload) bool {
	r := up.Record()
	return r.State == spool.Local && r.Forgotten.IsZero() && up.Size() > 0 && whole.IsDocument(up)
}

// Rests reports whether an upload has a time of grace, also one that was recalled for a change.
func Rests(r *spool.Record) bool {
	return r.Rest > over && (r.State == spool.Resting || r.State == spool.Recalled)
}

// WhyWaits returns why an upload waits or failed. For a queued upload in a queued folder, that is
// why the folder waits.
func WhyWaits(s *spool.Spool, r *spool.Record) string {
	if Rests(r) {
		at := r.Changed.Add(r.Rest).Local().Format(time.TimeOnly)
		why := "(--grace)"
		if r.Doubted {
			why = "or gets another name: programs write under such names"
		}
		return "it is sent at " + at + " unless it changes " + why + ", or by archivefs uploads send"
	}
	if folder, waits := s.Get(r.Within); waits && r.State.InQueue() {
		above := folder.Record()
		if why := WhyWaits(s, &above); why != "" {
			return "the folder " + archive.Printable(above.Name) + " is not made: " + why
		}
	}
	return r.Reason
}

// ModifiedOf returns the modification time that the file of an upload shows.
func ModifiedOf(r *spool.Record) time.Time {
	if !r.Mtime.IsZero() {
		return r.Mtime
	}
	return r.Changed
}

// HoldsUploads reports whether a queued folder has uploads in it.
func HoldsUploads(s *spool.Spool, folder *spool.Upload) bool {
	return slices.ContainsFunc(s.List(), func(up *spool.Upload) bool { return up.Record().Within == folder.ID() })
}

// GoneOn returns when the bytes of a file that was put away are removed.
func GoneOn(r *spool.Record) time.Time { return r.Forgotten.Add(junkAge) }

// nothingIn reports whether the record is of an inbox document that was emptied and closed.
func nothingIn(r *spool.Record) bool {
	return r.Replace != 0 && r.State == spool.Local && r.Size == 0
}
