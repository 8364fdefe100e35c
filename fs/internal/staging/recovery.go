package staging

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// junkAge is how long files under temporary names stay after their last change: longer than
// anybody waits for a download that was broken off. So long their bytes stay after that.
const junkAge = 7 * 24 * time.Hour

// Recover takes up what an earlier mount left in the spool: local files show in their
// folders again, what was accepted goes on to the archive, what was being sent is looked
// for at the service, what had not been sent when its close was cut off is failed, and old
// temporary files leave their folders. It does not wait for the service.
func (s *Area) Recover() {
	for _, up := range s.Spool.List() {
		r := up.Record()
		switch {
		case nothingIn(&r):
			s.Discard(up)
		case r.StaysHere() && (s.old(&r) || !r.Forgotten.IsZero()):
			s.putAway(up, &r)
		case r.State == spool.Confirmed && r.Directory:
			s.Folders.made(up, r.Document)
		case r.State == spool.Confirmed:
			s.settle(up, r.Document)
			s.Service.Work.Go(func() { s.conclude(context.Background(), up, r.Document) })
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
func (s *Area) resolve(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	id, err := spool.Resolve(ctx, up, s.Service.Archive)
	_ = s.Service.Answered(err)
	r := up.Record()
	if r.State == spool.Sending || r.State == spool.Committed {
		return true, err
	}
	s.mu.Lock()
	delete(s.cutOff, up.ID())
	s.mu.Unlock()
	if err != nil {
		s.Service.Failures.Add("archive", up, r.Path+"/"+r.Name, err)
		return false, err
	}
	s.settle(up, id)
	s.listAgain(&r)
	s.conclude(ctx, up, id)
	return false, nil
}

// old reports whether a local file is one that programs leave behind, and is so old that
// nobody will ask for it.
func (s *Area) old(r *spool.Record) bool {
	return StaysHere(r) && s.Service.Now().Sub(r.Changed) > junkAge
}

// putAway takes an old temporary file out of its folder and, where it holds something, keeps the
// bytes for as long once more.
func (s *Area) putAway(up *spool.Upload, r *spool.Record) {
	log := s.Service.Log.WithField("path", archive.Printable(r.Path+"/"+r.Name))
	switch {
	case up.Size() == 0:
		s.Discard(up)
	case r.Forgotten.IsZero():
		since := r.Changed
		if err := up.Update(func(r *spool.Record) { r.Forgotten = s.Service.Now() }); err != nil {
			log.Warnf("an old temporary file stays in its folder: %v", err)
			s.await(up)
			return
		}
		*r = up.Record()
		log.Warnf("a temporary file that nobody has changed since %s has left its folder; its bytes are kept until %s: archivefs uploads export MOUNTPOINT %s saves them",
			since.Format(time.DateOnly), GoneOn(r).Format(time.DateOnly), r.ID)
	case s.Service.Now().After(GoneOn(r)):
		log.Warnf("the bytes of a temporary file that left its folder on %s are removed", r.Forgotten.Format(time.DateOnly))
		s.Discard(up)
	}
}
