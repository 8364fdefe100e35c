package fs

import (
	"syscall"

	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/internal/spool"
)

// What a person decides about an upload.

// retry sends a failed upload again, in the background, and shows it in its folder. What
// waits for the service is tried at once. The folder that it lies in is made first, and
// with a folder what failed because of it is sent. A temporary or an empty file is never sent,
// and one that is not whole only asItIs.
func (s *staging) retry(up *spool.Upload, asItIs bool) error {
	r := up.Record()
	if err := mayRetry(&r, asItIs); err != nil {
		return err
	}
	if folder, ok := s.spool.Get(r.Within); ok && folder.State() == spool.Failed {
		if err := s.retry(folder, false); err != nil {
			return err
		}
	}
	inside := s.failedIn(up) // before: once the folder is made it is not told any more what lay in it
	if err := s.retryOne(up, asItIs); err != nil {
		return err
	}
	for _, in := range inside {
		if r := in.Record(); r.State == spool.Failed {
			if err := s.retry(in, false); err != nil {
				s.fs.service.Failures.Add("retry", in, r.Path+"/"+r.Name, err)
			}
		}
	}
	return nil
}

// mayRetry refuses what is never sent, or not unless somebody asks for it as it is.
func mayRetry(r *spool.Record, asItIs bool) error {
	switch {
	case staysHere(r):
		return errno.Refuse(syscall.EPERM, "temporary names and directories stay on this machine: give it its real name")
	case r.Incomplete() && r.Size == 0:
		return errno.Refuse(syscall.EPERM, spool.ErrEmpty.Error())
	case r.Incomplete() && !asItIs:
		return errno.Refuse(syscall.EPERM, spool.ErrIncomplete.Error())
	}
	return nil
}

// failedIn is what failed directly in a folder that is not made, and is whole.
func (s *staging) failedIn(folder *spool.Upload) (inside []*spool.Upload) {
	for _, up := range s.spool.List() {
		if r := up.Record(); r.Within == folder.ID() && r.State == spool.Failed && r.Visible && !r.Incomplete() {
			inside = append(inside, up)
		}
	}
	return inside
}

func (s *staging) retryOne(up *spool.Upload, asItIs bool) error {
	held := s.holder(up)
	held.commit.Lock()
	defer held.commit.Unlock()
	r := up.Record()
	take := up.Retry
	if asItIs {
		take = up.RetryAsItIs
	}
	switch _, there := s.spool.Get(up.ID()); {
	case !there:
		return syscall.ENOENT // it was archived meanwhile
	case r.State == spool.Created && r.Queued: // taken back for a change
	default:
		if err := take(); err != nil {
			if up.Record().Queued { // which the disk may have all the same
				s.queue.Add(up)
			}
			return err
		}
	}
	if r.State == spool.Failed {
		held.mu.Lock()
		held.happenedLocked(onQueue)
		shown := held.dir != nil
		held.mu.Unlock()
		if !shown && !r.Directory {
			s.await(up)
		}
	}
	s.queue.Hurry(up)
	return nil
}

// leftFolder sends what failed because the folder that it lay in was not made, and was put
// into another one since. before is its record from then.
func (s *staging) leftFolder(up *spool.Upload, before *spool.Record) {
	r := up.Record()
	if before.State != spool.Failed || before.Within == "" || r.State != spool.Failed || r.Within == before.Within || r.Incomplete() {
		return
	}
	if err := s.retry(up, false); err != nil {
		s.fs.service.Failures.Add("retry", up, r.Path+"/"+r.Name, err)
	}
}

// forget discards an upload that a person has decided about. One that is being sent, or
// that the archive may have, is busy.
func (s *staging) forget(up *spool.Upload) error {
	held := s.holder(up)
	if up.State() == spool.Failed { // the attempt that failed may still be ending
		held.commit.Lock()
	} else if !held.commit.TryLock() {
		return errno.ErrSending
	}
	defer held.commit.Unlock()
	if up.State() == spool.Sending {
		return errno.ErrMayHave
	}
	if up.Record().Directory {
		return s.forgetFolder(up)
	}
	if err := up.Remove(); err != nil {
		return err
	}
	if held.document() != nil {
		held.detach() // the document is what it was
	} else {
		held.hide()
		held.lastPlace()
	}
	s.letGo(up)
	return nil
}

// forgetFolder discards a queued folder, which must be empty and is locked by the caller.
func (s *staging) forgetFolder(up *spool.Upload) error {
	if holdsUploads(s.spool, up) {
		return errno.ErrHoldsUploads
	}
	s.mu.Lock()
	d := s.queuedDirs[up.ID()]
	s.mu.Unlock()
	if d == nil {
		return up.Remove()
	}
	parent, name := d.place()
	if e := parent.get(name); e != nil && e.dir == d {
		if err := parent.fs.folders.removeQueuedLocked(parent, e, up); err != nil {
			return err
		}
		s.fs.kernel.forgetNames(parent, []string{name})
	}
	return nil
}
