package fs

import (
	"cmp"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/fs/internal/errno"
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
	return f, uploadName(&r), modifiedOf(&r), err
}

// Discard forgets an upload and its bytes. A folder that is to be made must be empty. Nobody
// is sending, so that also what the archive may have goes.
func (k Kept) Discard(id string) error {
	up, err := k.find(id)
	switch {
	case err != nil:
		return err
	case up.Record().Directory && holdsUploads(k.Spool, up):
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
