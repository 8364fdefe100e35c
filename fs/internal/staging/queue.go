package staging

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/internal/spool"
)

// Uploading returns the number of uploads in flight.
func (s *Area) Uploading() int64 { return s.sending.Load() }

// attempt is one attempt of the queue at an upload. wait reports that the upload has to be tried
// again later. err is background.ErrMoot if there was nothing to try, and wraps
// background.ErrInDoubt if the request may still take effect.
func (s *Area) attempt(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	s.Service.Work.Begin()
	defer s.Service.Work.End()
	s.sending.Add(1)
	defer s.sending.Add(-1)
	if wait, err = s.tryQueued(ctx, up); spool.Unanswered(err) {
		err = fmt.Errorf("%w: %w", background.ErrInDoubt, err)
	}
	return wait, err
}

func (s *Area) tryQueued(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	_, there := s.Spool.Get(up.ID())
	r := up.Record()
	switch {
	case !there:
		return false, background.ErrMoot // removed or archived meanwhile
	case r.State.IsFailed(), unanswered(&r) && s.doubts.has(up):
		return s.resolve(ctx, up)
	case r.State == spool.Confirmed && !r.Directory:
		return s.settle(ctx, up)
	case r.Directory:
		return s.Folders.attempt(ctx, up)
	case IsHeldBack(up):
		s.Service.Failures.AddFailed("archive", up, path.Join(r.Path, r.Name), errHeldBack)
		return false, background.ErrMoot
	}
	return s.Delivery.attempt(ctx, s.Holder(up), up)
}

// heldBack is how long a whole document that stays here is left alone until somebody is told of it. Programs
// write documents under working names all the time, for as long as a download takes.
const heldBack = 30 * time.Minute

// errHeldBack is why such a document is not archived.
var errHeldBack = errors.New("it is a whole document under a name that programs work under, and such a file stays on this machine: rename it, and it is archived")

// deliverable reports whether the queue can try an upload, and from when on: its folder exists, or
// has failed, in which case the upload fails with it.
func (s *Area) deliverable(up *spool.Upload) (at time.Time, ok bool) {
	if at, planned := s.doubts.next(up); planned {
		return at, true
	}
	r := up.Record()
	folder, waiting := s.Spool.Get(r.Within)
	if r.State == spool.Local {
		return r.Changed.Add(heldBack), true
	}
	now := s.Service.Now()
	if Rests(&r) && !s.ending.Load() && !r.Changed.After(now) { // else the clock was set back
		at = r.Changed.Add(r.Rest)
		if s.Started.After(r.Changed) && !s.Started.After(now) { // a program that was cut off comes back
			at = s.Started.Add(r.Rest)
		}
		at = s.repeats.notBefore(up, at, now)
	}
	return at, !waiting || folder.State().IsFailed()
}

// whose returns who takes turns with others for an upload.
func whose(up *spool.Upload) uint32 { return up.Record().UID }

// backgroundPatience is how many times longer the background looks for an upload in doubt than a
// close does.
const backgroundPatience = 4

func (s *Area) queuePolicy() spool.Policy {
	return spool.Policy{RetryFor: backgroundPatience * s.Service.RetryFor, Attempts: 1, Queue: true}
}
