package staging

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// junkAge is how long a file with a temporary name stays in its folder after its last change:
// longer than anybody waits for an interrupted download. Its bytes are kept as long again.
const junkAge = 7 * 24 * time.Hour

// Recover takes over what an earlier mount left in the spool. Local files appear in their folders again, and queued
// uploads continue. Uploads that were being sent are looked for at the service; those whose close was cut off before
// that are failed. Old temporary files leave their folders. Recover does not wait for the service.
func Recover(s *Area) {
	for _, up := range s.Spool.List() {
		r := up.Record()
		switch {
		case nothingIn(&r):
			s.Discard(up)
		case r.State == spool.Local && (StaysHere(&r) && s.Service.Now().Sub(r.Changed) > junkAge || !r.Forgotten.IsZero()):
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

// resolve is one attempt of the queue to find out what became of an upload whose close was cut off by the end of an
// earlier mount. The upload is confirmed if the archive has it, else failed, because nobody waits for that close any
// more. While the service is away, the upload waits. It also looks again for one that failed in doubt.
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

// doubts are files that failed and have left their folders, and those whose close an earlier mount never answered. Those
// that failed without an answer may be in the archive: they are looked for by themselves, after a minute, two, four and
// so on, for a day.
type doubts struct {
	look    func(*spool.Upload) // Queue.Add
	discard func(*spool.Upload) // Area.Discard
	mu      sync.Mutex
	looks   map[*spool.Upload]look // +checklocks:mu
}

// look is the next look for an upload, and how long after the one before; zero for none.
type look struct {
	at    time.Time
	after time.Duration
}

const firstLook, longestLook = time.Minute, 12 * time.Hour

// plan takes in an upload that failed, in the place of an earlier one of the same file, and plans a look for it.
func (d *doubts) plan(up *spool.Upload, now time.Time) {
	for _, earlier := range d.continued(up) {
		if continues(up, earlier) {
			d.discard(earlier)
		}
	}
	if d.planned(up, now) {
		d.look(up)
	}
}

// planned plans the next look. What was cut off is in the queue anyway, and waits for none.
func (d *doubts) planned(up *spool.Upload, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.looks, func(up *spool.Upload, _ look) bool {
		was := up.Record()
		return found(&was) && now.Sub(was.Changed) > longestLook
	})
	r := up.Record()
	if !r.State.IsFailed() && !unanswered(&r) {
		delete(d.looks, up)
		return false
	}
	next := look{after: max(firstLook, 2*d.looks[up].after)}
	if next.at = now.Add(next.after); !r.Doubtful || next.after > longestLook {
		next = look{}
	}
	d.looks[up] = next
	return next != look{}
}

func (d *doubts) has(up *spool.Upload) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, in := d.looks[up]
	return in
}

// unanswered reports whether what is in doubts was cut off.
func unanswered(r *spool.Record) bool {
	return r.State == spool.Committed || r.State == spool.Sending
}

// next is when an upload is looked for; false: it is not, or its user has decided.
func (d *doubts) next(up *spool.Upload) (at time.Time, planned bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at = d.looks[up].at
	return at, !at.IsZero() && up.State().IsFailed()
}

// found reports whether what is in doubts has become a document.
func found(r *spool.Record) bool { return r.State == spool.Confirmed && r.Document != 0 }

// forget forgets an upload that is no more. What was found stays for a while: it may be being copied again.
func (d *doubts) forget(up *spool.Upload) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if was := up.Record(); !found(&was) {
		delete(d.looks, up)
	}
}

// continued are uploads that failed before, or were cut off, with the same bytes and attributes for the same name and folder:
// the file was copied again, and up may take their place, or that of the document that was found while it was copied.
func (d *doubts) continued(up *spool.Upload) (all []*spool.Upload) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := up.Record()
	for earlier := range d.looks {
		was := earlier.Record()
		open := was.State == spool.Lost || unanswered(&was) || found(&was) && r.Created.Before(was.Changed)
		if earlier != up && open && !was.Incomplete() && was.UID == r.UID && was.Replace == r.Replace &&
			was.Folder == r.Folder && was.DocumentName == r.DocumentName && was.Name == r.Name && was.SHA256 == r.SHA256 && was.EqualAttributes(&r.Attributes) {
			all = append(all, earlier)
		}
	}
	return all
}

// continues reports whether up takes the place of an earlier upload, as the next attempt if the archive may have it.
func continues(up, earlier *spool.Upload) bool {
	r, was := up.Record(), earlier.Record()
	return was.State.IsFailed() && (!was.Doubtful || was.SentID == r.SentID || !r.Doubtful && spool.Continue(up, earlier) == nil)
}
