package fs

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// junkAge is how long files under temporary names stay after their last change: longer than
// anybody waits for a download that was broken off. So long their bytes stay after that.
const junkAge = 7 * 24 * time.Hour

// recover takes up what an earlier mount left in the spool: local files show in their
// folders again, what was accepted goes on to the archive, what was being sent is looked
// for at the service, what had not been sent when its close was cut off is failed, and old
// temporary files leave their folders. It does not wait for the service.
func (s *staging) recover() {
	for _, up := range s.spool.List() {
		r := up.Record()
		switch {
		case nothingIn(&r):
			s.discard(up)
		case r.StaysHere() && (s.old(&r) || !r.Forgotten.IsZero()):
			s.putAway(up, &r)
		case r.State == spool.Confirmed && r.Directory:
			s.folderMade(up, r.Document)
		case r.State == spool.Confirmed:
			s.settle(up, r.Document)
			s.fs.work.Go(func() { s.conclude(context.Background(), up, r.Document) })
		case r.Queued:
			s.await(up)
			s.queue.Add(up)
		case r.State == spool.Created && r.Closed, r.State == spool.Failed && (r.Visible || r.Directory):
			s.await(up)
		case r.State == spool.Sending, r.State == spool.Committed:
			s.mu.Lock()
			s.cutOff[up.ID()] = true
			s.mu.Unlock()
			s.queue.Add(up)
		}
	}
}

// resolve is the queue's attempt to find out about an upload whose close an earlier mount
// had begun: it is confirmed when the archive has it, else failed, because that close
// cannot be answered any more. While the service is away it waits.
func (s *staging) resolve(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	id, err := s.spool.Resolve(ctx, up, s.fs.service.Archive)
	_ = s.fs.service.Answered(err)
	r := up.Record()
	if r.State == spool.Sending || r.State == spool.Committed {
		return true, err
	}
	s.mu.Lock()
	delete(s.cutOff, up.ID())
	s.mu.Unlock()
	if err != nil {
		s.fs.service.Failures.Add("archive", up, r.Path+"/"+r.Name, err)
		return false, err
	}
	s.settle(up, id)
	s.listAgain(&r)
	s.conclude(ctx, up, id)
	return false, nil
}

// old reports whether a local file is one that programs leave behind, and is so old that
// nobody will ask for it.
func (s *staging) old(r *spool.Record) bool {
	return staysHere(r) && s.fs.now().Sub(r.Changed) > junkAge
}

// putAway takes an old temporary file out of its folder and, where it holds something, keeps the
// bytes for as long once more.
func (s *staging) putAway(up *spool.Upload, r *spool.Record) {
	log := s.fs.log.WithField("path", archive.Printable(r.Path+"/"+r.Name))
	switch {
	case up.Size() == 0:
		s.discard(up)
	case r.Forgotten.IsZero():
		since := r.Changed
		if err := up.Update(func(r *spool.Record) { r.Forgotten = s.fs.now() }); err != nil {
			log.Warnf("an old temporary file stays in its folder: %v", err)
			s.await(up)
			return
		}
		*r = up.Record()
		log.Warnf("a temporary file that nobody has changed since %s has left its folder; its bytes are kept until %s: archivefs uploads export MOUNTPOINT %s saves them",
			since.Format(time.DateOnly), goneOn(r).Format(time.DateOnly), r.ID)
	case s.fs.now().After(goneOn(r)):
		log.Warnf("the bytes of a temporary file that left its folder on %s are removed", r.Forgotten.Format(time.DateOnly))
		s.discard(up)
	}
}

// goneOn is when nothing is kept any more of a file that was put away.
func goneOn(r *spool.Record) time.Time { return r.Forgotten.Add(junkAge) }
