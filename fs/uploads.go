package fs

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/internal/spool"
)

// Kept is a spool that no mount uses. It lists and discards uploads as the control directory of a
// mount does, except for what requires the archive service.
type Kept struct{ Spool *spool.Spool }

// mayBeArchived is the reason of an interrupted upload that has none of its own.
const mayBeArchived = "it was being sent, and the archive may have it already"

// List returns what the archive does not have, or may not have, oldest first. It includes local files
// (StateLocal), because without a mount no folder shows them.
func (k Kept) List() []UploadInfo {
	list := []UploadInfo{}
	for _, up := range k.Spool.List() {
		r := up.Record()
		switch {
		case holdsHere(up, &r):
			list = append(list, localInfo(k.Spool, up, &r))
		case listed(&r):
			info := uploadInfo(k.Spool, up, &r)
			if r.State.InFlight() {
				info.Error = cmp.Or(info.Error, mayBeArchived)
			}
			list = append(list, info)
		}
	}
	return list
}

// Open opens the bytes of an upload. name and modified are its name and time in the control directory
// of a mount.
func (k Kept) Open(id string) (bytes io.ReadSeekCloser, name string, modified time.Time, err error) {
	up, err := k.find(id)
	if err != nil {
		return nil, "", time.Time{}, err
	}
	if err := up.Open(); err != nil {
		return nil, "", time.Time{}, err
	}
	r := up.Record()
	return keptBytes{io.NewSectionReader(up, 0, up.Size()), up}, uploadName(&r), staging.ModifiedOf(&r), nil
}

type keptBytes struct {
	*io.SectionReader
	io.Closer
}

// Discard removes an upload and its bytes. A queued folder must be empty. Because nothing is being
// sent, it also removes uploads that the archive may have.
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

// listed reports whether a file of the spool waits for the archive or for a decision. Local files do
// not.
func listed(r *spool.Record) bool {
	return r.State != spool.Confirmed && (!r.State.Written() || r.State.InQueue())
}

// holdsHere reports whether it is a local file with content, which may be somebody's work.
func holdsHere(up *spool.Upload, r *spool.Record) bool {
	return r.State == spool.Local && up.Size() > 0
}

// isOpen reports whether a program is writing a file of a running mount, which is to be archived.
func isOpen(up *spool.Upload, r *spool.Record) bool {
	return (r.State == spool.Created || r.State.Due()) && !staging.StaysHere(r) && up.Size() > 0
}

// openInfo describes a file that a program is writing.
func openInfo(s *spool.Spool, up *spool.Upload, r *spool.Record) UploadInfo {
	info := uploadInfo(s, up, r)
	info.State, info.Open, info.Error = StateOpen, true, "a program is writing it"
	return info
}

// Reasons of local files that have none of their own.
const (
	temporaryStays = "its name, or that of a directory it lies in, is a temporary one, and such a file stays on this machine"
	takenForOne    = "it was taken for a temporary file: under another name it is archived"
)

func localInfo(s *spool.Spool, up *spool.Upload, r *spool.Record) UploadInfo {
	info := uploadInfo(s, up, r)
	info.State, info.HeldBack = StateLocal, staging.IsHeldBack(up)
	switch {
	case !r.Forgotten.IsZero():
		info.Error = "a temporary file, long unchanged and no longer in its folder: its bytes are kept until " + staging.GoneOn(r).Format(time.DateOnly)
	case info.Error != "":
	case staging.StaysHere(r):
		info.Error = temporaryStays
	default:
		info.Error = takenForOne
	}
	return info
}

// uploadName returns the name of an upload in the control directory.
func uploadName(r *spool.Record) string {
	return names.Prefixed(r.ID, r.Name)
}

func uploadInfo(s *spool.Spool, up *spool.Upload, r *spool.Record) UploadInfo {
	state, reason := StatePending, staging.WhyWaits(s, r)
	if r.State.IsFailed() {
		state = "failed"
	}
	return UploadInfo{
		ID: r.ID, State: state, Path: archive.Printable(r.Path + "/" + r.Name), Size: up.Size(),
		Changed: r.Changed, Directory: r.Directory, Inbox: r.Inbox, Incomplete: r.Incomplete(), Never: neverSent(up, r),
		Rests: staging.Rests(r), Waits: r.State.InQueue() && reason != "" && !staging.Rests(r), InDoubt: r.WaitsInDoubt(), Error: archive.Printable(reason),
	}
}

// neverSent returns why an upload cannot be sent as it is, empty where it can.
func neverSent(up *spool.Upload, r *spool.Record) string {
	switch {
	case r.State == spool.Unusable:
		return "only its bytes are left"
	case staging.StaysHere(r):
		return "its name is a temporary one"
	case r.Incomplete() && up.Size() == 0:
		return spool.ErrEmpty.Error()
	}
	return ""
}
