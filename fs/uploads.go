package fs

import (
	"cmp"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/internal/spool"
)

// Kept is what waits in a spool that no mount uses. It shows and decides as the control
// directory of a mount does, but for what only the archive service could tell.
type Kept struct{ Spool *spool.Spool }

// mayBeArchived is said of an upload that has no reason of its own.
const mayBeArchived = "it was being sent, and the archive may have it already"

// List tells what the archive does not have, or may not have, oldest first. Local files are
// among them, in the state StateLocal: no folder shows their bytes.
func (k Kept) List() []UploadInfo {
	list := []UploadInfo{}
	for _, up := range k.Spool.List() {
		r := up.Record()
		switch {
		case holdsHere(up, &r):
			list = append(list, localInfo(k.Spool, up, &r))
		case listed(&r):
			info := uploadInfo(k.Spool, up, &r)
			if r.State == spool.Sending {
				info.Error = cmp.Or(info.Error, mayBeArchived)
			}
			list = append(list, info)
		}
	}
	return list
}

// Open opens the bytes of an upload. name is what the control directory of a mount calls the
// file, and modified its time.
func (k Kept) Open(id string) (f *os.File, name string, modified time.Time, err error) {
	up, err := k.find(id)
	if err != nil {
		return nil, "", time.Time{}, err
	}
	r := up.Record()
	f, err = os.OpenFile(up.DataPath(), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	return f, uploadName(&r), staging.ModifiedOf(&r), err
}

// Discard forgets an upload and its bytes. A folder that is to be made must be empty. Nobody
// is sending, so that also what the archive may have goes.
func (k Kept) Discard(id string) error {
	up, err := k.find(id)
	switch {
	case err != nil:
		return err
	case up.Record().Directory && staging.HoldsUploads(k.Spool, up):
		return errno.ErrHoldsUploads
	}
	return up.Remove()
}

func (k Kept) find(id string) (*spool.Upload, error) {
	up, there := k.Spool.Get(id)
	if !there {
		return nil, fmt.Errorf("upload %s: %w", id, os.ErrNotExist)
	}
	return up, nil
}

// listed reports whether a file of the spool waits for the archive, or for somebody to
// decide about it; local files do not.
func listed(r *spool.Record) bool {
	return r.State != spool.Confirmed && (r.State != spool.Created || r.Queued)
}

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
		info.Error = "a temporary file that nobody changed for long, and no longer in its folder: its bytes are kept until " + staging.GoneOn(r).Format(time.DateOnly)
	case info.Error != "":
	case staging.StaysHere(r):
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

func uploadInfo(s *spool.Spool, up *spool.Upload, r *spool.Record) UploadInfo {
	state, reason := "pending", staging.WhyWaits(s, r)
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
	case staging.StaysHere(r):
		return "its name is a temporary one"
	case r.Incomplete() && up.Size() == 0:
		return spool.ErrEmpty.Error()
	}
	return ""
}
