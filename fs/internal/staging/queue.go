package staging

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/whole"
)

// Uploading returns the number of uploads in flight.
func (s *Area) Uploading() int64 { return s.sending.Load() }

// attempt is one attempt of the queue at an upload. wait reports that the upload has to be tried again later. err is
// background.ErrMoot if there was nothing to try, and wraps background.ErrInDoubt if the request may still take effect.
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

// backgroundPatience is how many times longer the background looks for an upload in doubt than a close does.
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

// WhyWaits returns why an upload waits or failed. For a queued upload in a queued folder, that is why the folder waits.
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

// repeats are the uploads that settle, or are written for it, by the name that they were given. A
// device whose connection broke does not know what arrived, and writes all of it again: under the same
// name, so the earlier one stays beside the later one.
type repeats struct {
	mu sync.Mutex
	// places are where the uploads were written.
	places map[*spool.Upload]place // +checklocks:mu
	// at are the uploads of each place.
	at map[place][]*spool.Upload // +checklocks:mu
	// awaited is until when an upload waits for what is written again.
	awaited map[*spool.Upload]time.Time // +checklocks:mu
	// archived are the last 256 uploads that the archive got; Changed is when.
	archived []spool.Record // +checklocks:mu
}

// comesBack is how long it takes a device at most to write again what it was not told to be written.
const comesBack = time.Minute

type place struct {
	folder archive.ID
	name   string
}

func placeOf(r *spool.Record) place { return place{r.Folder, cmp.Or(r.Written, r.Name)} }

func (r *repeats) note(up *spool.Upload) {
	rec := up.Record()
	p := placeOf(&rec)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.places[up]; known {
		return
	}
	r.places[up] = p
	r.at[p] = append(r.at[p], up)
}

// forget forgets an upload that is no more; one that the archive has only when there is none before it.
func (r *repeats) forget(up *spool.Upload) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, known := r.places[up]
	if !known {
		return
	}
	if up.State() == spool.Confirmed {
		r.archived = append(r.archived[max(0, len(r.archived)-255):], up.Record())
	}
	all := r.at[p]
	for i := 0; i < len(all); {
		if done := all[i].State() == spool.Confirmed; done && i == 0 || !done && all[i] == up {
			delete(r.places, all[i])
			delete(r.awaited, all[i])
			all = slices.Delete(all, i, i+1)
			continue
		}
		i++
	}
	if r.at[p] = all; len(all) == 0 {
		delete(r.at, p)
	}
}

// since returns what was written under the name of up after it.
func (r *repeats) since(up *spool.Upload) (later []*spool.Upload) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, known := r.places[up]
	if !known || len(r.at[p]) < 2 {
		return nil
	}
	created := up.Record().Created
	for _, u := range r.at[p] {
		if u != up && u.Record().Created.After(created) {
			later = append(later, u)
		}
	}
	return later
}

// await reports whether up is being written again: what has come of that so far is its beginning, and may
// still grow. up then waits until that has been left alone for a while.
func (r *repeats) await(up *spool.Upload, now time.Time, settle time.Duration) bool {
	var until time.Time
	for _, u := range r.since(up) {
		rec, at := u.Record(), time.Time{}
		switch {
		case rec.State.Written():
			at = now.Add(settle)
		case rec.State == spool.Resting:
			at = rec.Changed.Add(settle)
		}
		if at.After(now) && at.After(until) && begins(u, up) {
			until = at
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.places[up]; until.IsZero() || !known {
		return false
	}
	r.awaited[up] = until
	return true
}

// notBefore returns at or, if that is later, when up is to be looked at again: it may wait for what is
// written again, or for what was written before it under its name, because the service numbers documents in
// the order in which they come.
func (r *repeats) notBefore(up *spool.Upload, at, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if until := r.awaited[up]; until.After(at) {
		at = until
	}
	if all := r.at[r.places[up]]; len(all) > 1 {
		created := up.Record().Created
		for _, u := range all {
			rec := u.Record()
			waits := rec.State.InQueue() && !rec.State.Written() && rec.Reason == "" // else it may wait for long
			if u != up && waits && rec.Created.Before(created) {
				return latest(at, now.Add(time.Second))
			}
		}
	}
	return at
}

// cover reports whether the archive got the same bytes a moment ago, and has the document where it was put (there),
// or they were written again, and wait for it, too; of half a file, whether they are the beginning of what waits. A
// file that somebody has given a name of its own since it was written is never covered.
func (r *repeats) cover(up *spool.Upload, half bool, there func(archive.ID) bool) bool {
	a := up.Record()
	if !a.State.IsUnsent() || a.Doubtful {
		return false
	}
	same := func(b *spool.Record) bool { return a.Size == b.Size && a.SHA256 == b.SHA256 }
	named := func(b *spool.Record) bool {
		return a.Folder == b.Folder && (a.Name == placeOf(&a).name || a.Name == b.Name)
	}
	r.mu.Lock()
	archived := slices.Clone(r.archived)
	r.mu.Unlock()
	for _, b := range archived {
		if placeOf(&b) == placeOf(&a) && named(&b) && same(&b) && a.Created.Before(b.Changed.Add(comesBack)) && there(b.Document) {
			return true
		}
	}
	return slices.ContainsFunc(r.since(up), func(u *spool.Upload) bool {
		b := u.Record()
		waits := b.State.IsUnsent() || b.State.InFlight() || b.State == spool.Confirmed
		return waits && named(&b) && (same(&b) || half && begins(up, u))
	})
}

// begins reports whether the bytes of a are the beginning of those of b, or all of them.
func begins(a, b *spool.Upload) bool {
	size := a.Size()
	if size > b.Size() || a.Open() != nil {
		return false
	}
	defer a.Close() //nolint:errcheck // read only
	if b.Open() != nil {
		return false
	}
	defer b.Close() //nolint:errcheck // read only
	const piece = 64 << 10
	one, other := make([]byte, piece), make([]byte, piece)
	for at := int64(0); at < size; at += piece {
		n := min(piece, size-at)
		_, err := a.ReadAt(one[:n], at)
		if _, berr := b.ReadAt(other[:n], at); err != nil || berr != nil || !bytes.Equal(one[:n], other[:n]) {
			return false
		}
	}
	return true
}
