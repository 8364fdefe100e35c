package staging

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/whole"
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

// StaysHere reports whether a file is never uploaded under the name in its record.
func StaysHere(r *spool.Record) bool { return r.Temporary || len(r.Local) > 0 }

// IsHeldBack reports whether a whole document stays here because of its name: perhaps somebody waits for it.
func IsHeldBack(up *spool.Upload) bool {
	r := up.Record()
	return r.State == spool.Local && r.Forgotten.IsZero() && up.Size() > 0 && whole.IsDocument(up)
}

// Rests reports whether an upload has a time of grace, also one that was recalled for a change.
func Rests(r *spool.Record) bool {
	return r.Rest > over && (r.State == spool.Resting || r.State == spool.Recalled)
}

// WhyWaits returns why an upload waits or failed. For a queued upload in a queued folder, that is
// why the folder waits.
func WhyWaits(s *spool.Spool, r *spool.Record) string {
	if Rests(r) {
		at := r.Changed.Add(r.Rest).Local().Format(time.TimeOnly)
		why := "(--grace)"
		if r.Doubted {
			why = "or gets another name: programs write under such names"
		}
		return "it is sent at " + at + " unless it changes " + why + ", or by archivefs uploads send"
	}
	if folder, waits := s.Get(r.Within); waits && r.State.InQueue() {
		above := folder.Record()
		if why := WhyWaits(s, &above); why != "" {
			return "the folder " + archive.Printable(above.Name) + " is not made: " + why
		}
	}
	return r.Reason
}

// ModifiedOf returns the modification time that the file of an upload shows.
func ModifiedOf(r *spool.Record) time.Time {
	if !r.Mtime.IsZero() {
		return r.Mtime
	}
	return r.Changed
}

// HoldsUploads reports whether a queued folder has uploads in it.
func HoldsUploads(s *spool.Spool, folder *spool.Upload) bool {
	return slices.ContainsFunc(s.List(), func(up *spool.Upload) bool { return up.Record().Within == folder.ID() })
}

// GoneOn returns when the bytes of a file that was put away are removed.
func GoneOn(r *spool.Record) time.Time { return r.Forgotten.Add(junkAge) }

// nothingIn reports whether the record is of an inbox document that was emptied and closed.
func nothingIn(r *spool.Record) bool {
	return r.Replace != 0 && r.State == spool.Local && r.Size == 0
}
