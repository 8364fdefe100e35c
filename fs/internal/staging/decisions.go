package staging

import (
	"errors"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/internal/spool"
)

// What a user decides about an upload: send, retry and discard.

// over is the time of grace of what a user sends: it is checked, and does not rest.
const over = time.Nanosecond

// Send ends the time of grace of an upload, and of the folders in which it lies. One that failed has none
// when it is retried.
func (s *Area) Send(up *spool.Upload) error {
	if folder, waits := s.Spool.Get(up.Record().Within); waits {
		if err := s.Send(folder); err != nil {
			return err
		}
	}
	r := up.Record()
	if Rests(&r) || r.State.IsFailed() && r.Rest > over {
		if err := up.Update(func(r *spool.Record) { r.Rest = over }); err != nil {
			return err
		}
	}
	if r.State.InQueue() {
		s.Queue.Hurry(up)
	}
	return nil
}

// retry sends a failed upload again, in the background, and shows it in its folder. An upload that is queued already is
// tried at once. If its folder failed, that is retried first. Retrying a folder also retries what failed with it. Files
// with temporary names and empty files are never sent, incomplete ones only with asItIs.
func (s *Area) retry(up *spool.Upload, asItIs bool) error {
	r := up.Record()
	if err := mayRetry(&r, asItIs); err != nil {
		return err
	}
	folder, inFolder := s.Spool.Get(r.Within)
	inFolder = inFolder && folder.State().IsFailed()
	if inFolder {
		if err := s.retry(folder, false); err != nil { // which also retries what is in it
			return err
		}
	}
	inside := s.failedIn(up) // before the retry: once the folder exists, no record says what was in it
	err := s.Send(up)
	if err == nil {
		held := s.Holder(up)
		held.Commit.Lock()
		err = s.RetryLocked(held, up, asItIs)
		held.Commit.Unlock()
	}
	switch {
	case inFolder && errors.Is(err, syscall.ENOENT):
		return nil // it has been archived with its folder
	case err != nil:
		return err
	}
	for _, in := range inside {
		if r := in.Record(); r.State.IsFailed() {
			if err := s.retry(in, false); err != nil {
				s.Service.Failures.Add("retry", in, r.Path+"/"+r.Name, err)
			}
		}
	}
	return nil
}

// mayRetry refuses files that are never sent, and incomplete ones unless asItIs is set.
func mayRetry(r *spool.Record, asItIs bool) error {
	switch {
	case StaysHere(r):
		return errno.Refuse(syscall.EPERM, "temporary names and directories stay on this machine: give it its real name")
	case r.Incomplete() && r.Size == 0:
		return errno.Refuse(syscall.EPERM, spool.ErrEmpty.Error())
	case r.Incomplete() && !asItIs:
		return errno.Refuse(syscall.EPERM, spool.ErrIncomplete.Error())
	}
	return nil
}

// failedIn returns the complete uploads directly in a folder that failed with it.
func (s *Area) failedIn(folder *spool.Upload) (inside []*spool.Upload) {
	for _, up := range s.Spool.List() {
		if r := up.Record(); r.Within == folder.ID() && r.State == spool.Failed && !r.Incomplete() {
			inside = append(inside, up)
		}
	}
	return inside
}

// RetryLocked queues an upload again under Commit of held, which stands for it.
// +checklocks:held.Commit
func (s *Area) RetryLocked(held *File, up *spool.Upload, asItIs bool) error {
	r := up.Record()
	if _, there := s.Spool.Get(up.ID()); !there {
		return syscall.ENOENT // it was archived meanwhile
	}
	if r.State != spool.Recalled {
		if err := up.Retry(asItIs); err != nil {
			if up.State().InQueue() { // it is queued nevertheless
				s.Queue.Add(up)
			}
			return err
		}
	}
	if shown, _ := held.Place(); r.State.IsFailed() && shown == nil && !r.Directory {
		s.Placing.await(up)
	}
	s.Queue.Hurry(up)
	return nil
}

// LeftFolder retries an upload that failed with its folder and was moved to another one. before is
// its record before the move.
func LeftFolder(s *Area, up *spool.Upload, before *spool.Record) {
	r := up.Record()
	if !before.State.IsFailed() || before.Within == "" || !r.State.IsFailed() || r.Within == before.Within || r.Incomplete() {
		return
	}
	if err := s.retry(up, false); err != nil {
		s.Service.Failures.Add("retry", up, r.Path+"/"+r.Name, err)
	}
}

// Forget discards an upload on a user's request. It returns an error (EBUSY) while the upload is
// being sent, or if the archive may have it.
func Forget(s *Area, up *spool.Upload) error {
	held := s.Holder(up)
	if up.State().IsFailed() { // the attempt that failed may still be ending
		held.Commit.Lock()
	} else if !held.Commit.TryLock() {
		return errno.ErrSending
	}
	defer held.Commit.Unlock()
	// checklocks does not know TryLock: Commit is held either way.
	return forgetLocked(s, held, up) // +checklocksforce
}

// forgetLocked is Forget under Commit of held, which stands for the upload.
// +checklocks:held.Commit
func forgetLocked(s *Area, held *File, up *spool.Upload) error {
	if up.State().InFlight() {
		return errno.ErrMayHave
	}
	if up.Record().Directory {
		return s.Folders.forgetLocked(held, up)
	}
	if err := up.Remove(); err != nil {
		return err
	}
	if held.Document() != nil {
		held.detach() // the document keeps its old bytes
	} else {
		held.hide()
		held.lastPlaceLocked()
	}
	s.letGo(up)
	return nil
}
