package fs

import (
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// listed reports whether a file of the spool waits for the archive, or for somebody to
// decide about it; local files do not.
func listed(r *spool.Record) bool {
	return r.State != spool.Confirmed && (r.State != spool.Created || r.Queued)
}

// uploadName is the name of an upload in the control directory.
func uploadName(r *spool.Record) string {
	stem, ext := splitExt(safeName(r.Name))
	return fit(r.ID+" "+stem, "", ext)
}

// whyWaits is why an upload waits, or failed. What lies in a folder that is not made waits
// for that.
func whyWaits(s *spool.Spool, r *spool.Record) string {
	if folder, waits := s.Get(r.Within); waits && r.Queued {
		above := folder.Record()
		if why := whyWaits(s, &above); why != "" {
			return "the folder " + archive.Printable(above.Name) + " is not made: " + why
		}
	}
	return r.Reason
}

func uploadInfo(s *spool.Spool, r *spool.Record, size int64) UploadInfo {
	state, reason := "pending", whyWaits(s, r)
	if r.State == spool.Failed {
		state = "failed"
	}
	return UploadInfo{
		ID: r.ID, State: state, Path: archive.Printable(r.Path + "/" + r.Name), Size: size,
		Changed: r.Changed, Directory: r.Directory, Waits: r.Queued && reason != "", Error: archive.Printable(reason),
	}
}

// modifiedOf is when an upload was changed last, as its file shows it.
func modifiedOf(r *spool.Record) time.Time {
	if !r.Mtime.IsZero() {
		return r.Mtime
	}
	return r.Changed
}

// holdsUploads reports whether something waits in a queued folder.
func holdsUploads(s *spool.Spool, folder *spool.Upload) bool {
	for _, inside := range s.List() {
		if inside.Record().Within == folder.ID() {
			return true
		}
	}
	return false
}
