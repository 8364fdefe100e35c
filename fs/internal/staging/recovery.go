package staging

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// junkAge is how long a file with a temporary name stays in its folder after its last change:
// longer than anybody waits for an interrupted download. Its bytes are kept as long again.
const junkAge = 7 * 24 * time.Hour

// Recover takes over what an earlier mount left in the spool. Local files appear in their folders
// again, and queued uploads continue. Uploads that were being sent are looked for at the service;
// those whose close was cut off before that are failed. Old temporary files leave their folders.
// Recover does not wait for the service.
func Recover(s *Area) {
	for _, up := range s.Spool.List() {
		r := up.Record()
		switch {
		case nothingIn(&r):
			s.Discard(up)
		case r.State == spool.Local && (old(s, &r) || !r.Forgotten.IsZero()):
			putAway(s, up, &r)
		case r.State == spool.Confirmed && r.Directory:
			s.Folders.made(up, r.Document)
		case r.State == spool.Confirmed && r.Document != 0:
			s.cacheBytes(up, r.Document)
			s.Service.Work.Go(func() { s.conclude(s.People.behalf(context.Background(), up), up, r.Document) })
		case r.State.InQueue(), r.State == spool.Confirmed:
			s.Placing.await(up)
			if r.Written != "" {
				s.repeats.note(up)
			}
			s.Queue.Add(up)
		case r.State == spool.Local:
			s.Placing.await(up)
			if IsHeldBack(up) {
				s.Queue.Add(up)
			}
		case r.State == spool.Failed, r.State == spool.Unusable && r.Directory:
			s.Placing.await(up)
		case r.State == spool.Lost:
			s.doubts.plan(up, s.Service.Now())
		case r.State == spool.Sending, r.State == spool.Committed:
			s.doubts.planned(up, s.Service.Now())
			s.Queue.Add(up)
		}
	}
}

// old reports whether a file that is never uploaded has not changed for junkAge.
func old(s *Area, r *spool.Record) bool {
	return StaysHere(r) && s.Service.Now().Sub(r.Changed) > junkAge
}

// putAway takes an old temporary file out of its folder and keeps its bytes for another junkAge. An
// empty file is discarded at once.
func putAway(s *Area, up *spool.Upload, r *spool.Record) {
	log := s.Service.Log.WithField("path", archive.Printable(r.Path+"/"+r.Name))
	switch {
	case up.Size() == 0:
		s.Discard(up)
	case r.Forgotten.IsZero():
		since := r.Changed
		if err := up.Update(func(r *spool.Record) { r.Forgotten = s.Service.Now() }); err != nil {
			log.Warnf("an old temporary file could not leave its folder: %v", err)
			s.Placing.await(up)
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

// resolve is one attempt of the queue to find out what became of an upload whose close was cut off
// by the end of an earlier mount. The upload is confirmed if the archive has it, else failed,
// because nobody waits for that close any more. While the service is away, the upload waits. It also looks
// again for one that failed in doubt.
func (s *Area) resolve(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	was := up.State()
	id, err := spool.Resolve(ctx, up, s.Service.Archive, true)
	_ = s.Service.Answered(err)
	r := up.Record()
	if unanswered(&r) {
		return true, err
	}
	if err != nil {
		if !was.IsFailed() {
			s.Service.Failures.AddFailed("archive", up, r.Path+"/"+r.Name, err)
		}
		s.doubts.plan(up, s.Service.Now())
		return false, err
	}
	f := s.Holder(up)
	f.Commit.Lock()
	defer f.Commit.Unlock()
	s.Delivery.ArrivedLocked(ctx, f, up, id)
	return false, nil
}
