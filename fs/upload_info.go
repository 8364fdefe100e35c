package fs

import (
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/internal/spool"
)

// listed reports whether a file of the spool waits for the archive, or for somebody to
// decide about it; local files do not.
func listed(r *spool.Record) bool {
	return r.State != spool.Confirmed && (r.State != spool.Created || r.Queued)
}

// staysHere reports whether a record is of a file that is never uploaded as it is called.
func staysHere(r *spool.Record) bool { return r.Temporary || names.IsJunk(r.Name) || len(r.Local) > 0 }

// holdsHere reports whether a local file holds something: it is somebody's work.
func holdsHere(up *spool.Upload, r *spool.Record) bool { return r.StaysHere() && up.Size() > 0 }

// Why a local file that has no reason of its own is one.
const (
	temporaryStays = "its name, or that of a directory it lies in, is a temporary one, and such a file stays on this machine"
	takenForOne    = "it was taken for a temporary file: under another name it is archived"
)

// localInfo tells of a local file.
func localInfo(s *spool.Spool, up *spool.Upload, r *spool.Record) UploadInfo {
	info := uploadInfo(s, up, r)
	info.State = StateLocal
	switch {
	case !r.Forgotten.IsZero():
		info.Error = "a temporary file that nobody changed for long, and no longer in its folder: its bytes are kept until " + goneOn(r).Format(time.DateOnly)
	case info.Error != "":
	case staysHere(r):
		info.Error = temporaryStays
	default:
		info.Error = takenForOne
	}
	return info
}

// uploadName is the name of an upload in the control directory.
func uploadName(r *spool.Record) string {
	return names.Prefixed(r.ID, r.Name)
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

func uploadInfo(s *spool.Spool, up *spool.Upload, r *spool.Record) UploadInfo {
	state, reason := "pending", whyWaits(s, r)
	if r.State == spool.Failed {
		state = "failed"
	}
	return UploadInfo{
		ID: r.ID, State: state, Path: archive.Printable(r.Path + "/" + r.Name), Size: up.Size(),
		Changed: r.Changed, Directory: r.Directory, Incomplete: r.Incomplete(), Never: neverSent(up, r),
		Waits: r.Queued && reason != "", InDoubt: r.WaitsInDoubt(), Error: archive.Printable(reason),
	}
}

// neverSent is why nobody can have something sent, empty where somebody can.
func neverSent(up *spool.Upload, r *spool.Record) string {
	switch {
	case up.Broken():
		return "only its bytes are left"
	case staysHere(r):
		return "its name is a temporary one"
	case r.Incomplete() && up.Size() == 0:
		return spool.ErrEmpty.Error()
	}
	return ""
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
