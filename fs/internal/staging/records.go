package staging

import (
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/internal/spool"
)

// What the records of the spool say.

// StaysHere reports whether a record is of a file that is never uploaded as it is called.
func StaysHere(r *spool.Record) bool { return r.Temporary || names.IsJunk(r.Name) || len(r.Local) > 0 }

// WhyWaits is why an upload waits, or failed. What lies in a folder that is not made waits
// for that.
func WhyWaits(s *spool.Spool, r *spool.Record) string {
	if folder, waits := s.Get(r.Within); waits && r.Queued {
		above := folder.Record()
		if why := WhyWaits(s, &above); why != "" {
			return "the folder " + archive.Printable(above.Name) + " is not made: " + why
		}
	}
	return r.Reason
}

// ModifiedOf is when an upload was changed last, as its file shows it.
func ModifiedOf(r *spool.Record) time.Time {
	if !r.Mtime.IsZero() {
		return r.Mtime
	}
	return r.Changed
}

// HoldsUploads reports whether something waits in a queued folder.
func HoldsUploads(s *spool.Spool, folder *spool.Upload) bool {
	for _, inside := range s.List() {
		if inside.Record().Within == folder.ID() {
			return true
		}
	}
	return false
}

// GoneOn is when nothing is kept any more of a file that was put away.
func GoneOn(r *spool.Record) time.Time { return r.Forgotten.Add(junkAge) }

// nothingIn reports whether a record is of an inbox document that was emptied and closed.
func nothingIn(r *spool.Record) bool {
	return r.Replace != 0 && r.State == spool.Created && r.Closed && r.Size == 0
}
