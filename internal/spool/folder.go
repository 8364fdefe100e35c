package spool

import (
	"context"
	"errors"
	"fmt"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/journal"
)

// FolderMaker makes one folder at the service. Errors are judged by their archive.Kind.
type FolderMaker interface {
	// Find lists the parent afresh and returns the folder of the name, 0 when there is none.
	Find(ctx context.Context) (archive.ID, error)
	// Make creates the folder and returns its id, 0 when the service does not tell.
	Make(ctx context.Context) (archive.ID, error)
}

// CreateFolder queues a folder to be made, with the descriptive fields of r. It is durable when CreateFolder returns.
// doubtful says that the service was asked for it already and may have made it.
func (s *Spool) CreateFolder(r Record, doubtful bool) (*Upload, error) {
	r = s.fresh(r)
	r.State, r.Directory = Queued.of(&r), true
	if doubtful {
		r.State = Delivering
	}
	u, err := s.create(r, synced)
	if err != nil {
		return nil, fmt.Errorf("queue a folder: %w", err)
	}
	return u, nil
}

// DeliverFolder makes a queued folder, or finishes one that was being made, and returns its id. A folder of that name
// that is there by then is taken for it: nobody wants two of a name in one place. It ends as Deliver does.
func DeliverFolder(ctx context.Context, u *Upload, m FolderMaker, p Policy) (archive.ID, error) {
	return deliver(ctx, u, p, onSend, func(d *delivery) (archive.ID, error) {
		d.looks = func(ctx context.Context) verdict {
			id, err := m.Find(ctx)
			return verdict{found: err == nil && id != 0, id: id, err: err}
		}
		return d.makeFolder(ctx, m)
	})
}

// errNotListed says that a folder was made, and its id cannot be found.
var errNotListed = errors.New("the service made the folder but does not list it")

// makeFolder asks for the folder unless it is there, and looks after every end in doubt.
func (d *delivery) makeFolder(ctx context.Context, m FolderMaker) (archive.ID, error) {
	var cause error
	if d.u.rec.Load().inDoubt() {
		cause = errCutOff
	}
	for {
		var v verdict
		if cause == nil {
			v = d.looks(context.WithoutCancel(ctx))
		} else {
			v = d.findOut(ctx, cause)
		}
		switch {
		case v.found:
			return d.confirm(ctx, v.id)
		case v.err != nil:
			return 0, d.fail(ctx, v.err, cause != nil)
		}
		if cause != nil {
			if err := d.missed(cause); err != nil {
				return 0, d.fail(ctx, err, true)
			}
		}
		if d.sent > 0 && !d.patience.mayRepeat(ctx, d.sent) {
			return 0, d.fail(ctx, fmt.Errorf("it was not made: %w", cause), true)
		}
		if err := d.prepareFolder(ctx); err != nil {
			return 0, d.fail(ctx, err, cause != nil)
		}
		d.sent++
		d.absent = false
		id, err := m.Make(context.WithoutCancel(ctx))
		switch {
		case err == nil && id != 0:
			return d.confirm(ctx, id)
		case err == nil: // it is not asked for again: that would make a second one
			v := d.findOut(ctx, errNotListed)
			if v.found {
				return d.confirm(ctx, v.id)
			}
			return 0, d.fail(ctx, errors.Join(errNotListed, v.err), true)
		case !archive.Doubtful(err):
			if !waits(err) { // the service, or a proxy before it, can refuse what it has made
				if v := d.looks(context.WithoutCancel(ctx)); v.found {
					return d.confirm(ctx, v.id)
				}
			}
			return 0, d.fail(ctx, err, cause != nil)
		}
		cause = d.ended(err)
	}
}

// prepareFolder writes down, durably, that the service is about to be asked.
func (d *delivery) prepareFolder(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("given up before it was asked for: %w", err)
	}
	d.u.mu.Lock()
	defer d.u.mu.Unlock()
	return d.u.transitLocked(onSend, synced, func(r *Record) {
		r.Reason = ""
		r.Attempts++
	})
}

// Left counts what is in a spool and not in the archive, as the next run finds it.
type Left struct {
	Pending int   // uploads that go on then
	Bytes   int64 // of them
	InDoubt int   // of them, those that wait and may still arrive (Record.WaitsInDoubt)
	Failed  int   // uploads that wait for somebody to decide
	Local   int   // files that hold something and stay on this machine
}

// add counts an upload of that record and size.
func (l *Left) add(r *Record, size int64) {
	switch {
	case r.State == Local && size > 0:
		l.Local++
	case r.State == Confirmed, r.State == Local:
	case r.State.InFlight(), r.State.InQueue():
		l.Pending++
		l.Bytes += size
		if r.WaitsInDoubt() {
			l.InDoubt++
		}
	default: // also what was cut off: not closed yet, or not sent before its close ended
		l.Failed++
	}
}

// Left counts what the archive does not have.
func (s *Spool) Left() (l Left) {
	for _, up := range s.List() {
		l.add(up.rec.Load(), up.Size())
	}
	return l
}

// LeftIn counts what is in the spool at dir, without opening it. What cannot be read counts as
// failed. While a process uses the spool the figures may be a moment old.
func LeftIn(dir string) (l Left, err error) {
	found := newLeft()
	done, err := journal.Read(dir, found.replay)
	if err != nil {
		return l, err
	}
	done()
	for id, u := range found.uploads {
		switch r, err := u.decode(id); {
		case !validID(id):
		case err != nil:
			l.Failed++
		default:
			l.add(&r, r.Size)
		}
	}
	return l, nil
}

// Waiting counts what lies in the spool at dir and belongs into the archive: what is pending or
// failed, without local files.
func Waiting(dir string) (int, error) {
	l, err := LeftIn(dir)
	return l.Pending + l.Failed, err
}
