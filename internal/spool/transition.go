package spool

import (
	"errors"

	"github.com/archivefs/archivefs/archive"
)

// may refuses what the table of transitions does not allow in the upload's state, everything of
// an upload that was removed or cannot be read, and most of it during a delivery.
// +checklocks:u.mu
func (u *Upload) mayLocked(ev event) error {
	r := u.rec.Load()
	switch _, ok := ev.to[r.State]; {
	case u.removed:
		return ErrRemoved
	case u.broken != nil:
		return &StateError{Op: ev.name, ID: u.id, State: Failed, Detail: u.broken.Error()}
	case !ok, u.busy && !ev.busy, ev.when != nil && !ev.when(r):
		return refusal(ev.name, r)
	}
	return nil
}

// transitLocked is a transition: the record gets the state that the table has for the event, and
// what edit changes, and is written. The bytes are sealed in every state but created.
// +checklocks:u.mu
func (u *Upload) transitLocked(ev event, as durability, edit func(*Record)) error {
	next := u.Record()
	from := next.State
	to, ok := ev.to[from]
	if !ok {
		return refusal(ev.name, &next)
	}
	if err := u.spool.fault(ev.before); err != nil {
		return err
	}
	edit(&next)
	next.State, next.Changed = to, u.spool.now()
	if err := u.storeLocked(&next, as); err != nil {
		return err
	}
	if to != from {
		u.seal()
	}
	return u.spool.fault(ev.after)
}

// insistLocked is transitLocked for what is true even when the disk does not take the record: the
// upload then is so for this run, and the next one looks again.
// +checklocks:u.mu
func (u *Upload) insistLocked(ev event, as durability, edit func(*Record)) error {
	to := ev.to[u.State()]
	err := u.transitLocked(ev, as, edit)
	if err != nil {
		r := u.Record()
		edit(&r)
		r.State = to
		u.rec.Store(&r)
	}
	return err
}

// seal seals the bytes in every state but created.
func (u *Upload) seal() { u.content.seal(u.State() != Created) }

// Commit declares the data complete: created becomes committed. When it returns, data and
// record of an upload that is Queued are durable, and so are those of one that was synced
// before. After an error the upload is created as before.
func (u *Upload) Commit() error { return u.CommitAs(func(*Record) {}) }

// CommitAs is Commit after an Update by edit, with one record for both.
func (u *Upload) CommitAs(edit func(*Record)) error {
	next := u.lockWith(edit)
	defer u.mu.Unlock()
	return u.commitLocked(onCommit, next)
}

// Recommit is Commit for an upload that was recalled and has not changed since; for one that
// somebody has begun to change the error is a *StateError.
func (u *Upload) Recommit() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	next := u.Record()
	return u.commitLocked(onRecommit, &next)
}

// commitLocked seals the data, takes its checksum, and makes it durable with the record next
// unless the upload is volatile. Bytes other than those sent before start anew.
// +checklocks:u.mu
func (u *Upload) commitLocked(ev event, next *Record) error {
	if err := u.mayLocked(ev); err != nil {
		return err
	}
	if err := u.content.acquire(); err != nil {
		return err
	}
	defer u.content.release()
	u.content.seal(true)
	defer u.seal()
	if next.Size = u.Size(); ev.name == onCommit.name {
		next.Unwritten = u.content.unwritten()
	}
	switch err := next.Lacks(); {
	case next.Size == 0:
		return ErrEmpty
	case ev.name == onRetry.name: // as it is
		next.Stopped, next.Unwritten = false, 0
	case err != nil && next.Rest == 0: // else whoever sends it asks
		return err
	}
	sum, err := u.content.sum()
	if err != nil {
		return err
	}
	as := asBefore
	if !u.volatileLocked(next) {
		as = synced
	}
	u.checked = true
	return u.transitLocked(ev, as, func(r *Record) {
		*r = *next
		r.Visible = r.Visible && u.State() == Failed // in its folder again
		r.Closed, r.Reason, r.SHA256 = false, "", sum
		if r.SentSHA256 != sum {
			r.forgetSent()
		}
	})
}

// Reopen makes a committed or failed upload created again, for another write. On one that
// is created it makes a local file unfinished.
func (u *Upload) Reopen() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.reopenLocked()
}

// +checklocks:u.mu
func (u *Upload) reopenLocked() error {
	if err := u.mayLocked(onReopen); err != nil {
		return err
	}
	if r := u.rec.Load(); r.State == Created && !r.Closed {
		return nil
	}
	return u.transitLocked(onReopen, synced, func(r *Record) {
		r.Closed, r.Queued, r.Size, r.SHA256, r.Reason, r.Stopped = false, false, 0, "", "", false
	})
}

// Recall takes a committed upload back from the queue, so that it can be changed: it is
// created and closed, as a local file is, and still queued. Commit makes it what it was,
// Keep a local file; the first change makes it unfinished.
func (u *Upload) Recall() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.mayLocked(onRecall); err != nil {
		return err
	}
	return u.transitLocked(onRecall, synced, func(r *Record) { r.Closed, r.SHA256, r.Reason = true, "", "" })
}

// unfinish makes a local file unfinished before n bytes are written, up to end. Where there
// is no room for them it stays finished.
func (u *Upload) unfinish(n, end int64) error {
	if r := u.rec.Load(); r.State != Created || !r.Closed {
		return nil
	}
	if err := u.spool.saw(u.spool.budget.mayTake(n, max(0, end-u.Size()))); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.removed {
		return nil // still open somewhere; nothing is kept of it
	}
	if r := u.rec.Load(); r.State != Created {
		return refusal("write to", r)
	}
	return u.reopenLocked()
}

// Keep declares an upload that is created a local file, which every writer has closed. It
// is durable when Keep returns.
func (u *Upload) Keep() error { return u.KeepRefused("") }

// KeepRefused is Keep for a local file that was not taken when it was to become a document.
// The reason is for people, made printable, and stays until the file changes.
func (u *Upload) KeepRefused(reason string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.mayLocked(onKeep); err != nil {
		return err
	}
	size := u.Size()
	return u.transitLocked(onKeep, synced, func(r *Record) {
		r.Closed, r.Queued, r.Size, r.Reason = true, false, size, archive.Printable(reason)
		r.Unwritten = u.content.unwritten()
	})
}

// Failure says of an upload that failed whether it stays in its folder, and whether it turned out to be no
// whole file (Record.Incomplete).
type Failure struct{ Visible, Incomplete bool }

// Fail makes an upload failed, whatever it was, except confirmed. The reason is for people and is made
// printable. That an upload which was being sent may have arrived stays noted.
func (u *Upload) Fail(reason string, as Failure) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.mayLocked(onFail); err != nil {
		return err
	}
	r := u.rec.Load()
	u.content.seal(true)
	defer u.seal()
	if (r.State == Created || !u.durable) && !r.Directory {
		if err := u.content.sync(); err != nil { // the record matters more than the error
			u.log.Warn(err)
		}
	}
	return u.transitLocked(onFail, synced, func(r *Record) {
		if as.Incomplete {
			r.SHA256 = ""
		}
		r.fail(reason, as.Visible, u.Size())
		r.Unwritten = u.content.unwritten()
	})
}

// Retry makes a failed upload committed again, and queued, so that Deliver sends it; when
// an earlier attempt may have arrived Deliver first looks. What is Incomplete is not taken
// (ErrIncomplete, ErrEmpty). One that is queued already forgets why it waits.
func (u *Upload) Retry() error { return u.retry(false) }

// RetryAsItIs is Retry that takes also a file that was never complete, unless it is empty.
func (u *Upload) RetryAsItIs() error { return u.retry(true) }

func (u *Upload) retry(asItIs bool) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.mayLocked(onRetry); err != nil {
		return err
	}
	next := u.Record()
	next.Queued, next.Reason = true, ""
	switch r := u.rec.Load(); {
	case r.State != Failed && r.Reason == "":
		return nil
	case r.Incomplete() && u.Size() == 0:
		return ErrEmpty
	case r.Incomplete() && !asItIs:
		return ErrIncomplete
	case r.Incomplete():
		return u.commitLocked(onRetry, &next)
	}
	return u.transitLocked(onRetry, synced, func(r *Record) { *r = next })
}

// Remove forgets an upload and its bytes. Handles that have it open can read and write until
// they are closed. While it is delivered it cannot be removed (*StateError).
func (u *Upload) Remove() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.removed:
		return nil
	case u.busy:
		return refusal("remove", u.rec.Load())
	}
	lasts := u.durable || u.State() == Confirmed
	r := u.rec.Load()
	later := r.State == Confirmed && r.Queued // nobody waits (SyncRemovals)
	err := u.spool.fault(PointRemove)
	if err == nil {
		err = u.spool.saw(u.spool.writeRemoval(u.id, lasts && !later || u.content.isInFile()))
	}
	if err != nil {
		if lasts { // a confirmation may not be durable, and the journal may say that it is gone
			again := u.Record()
			err = errors.Join(err, u.storeLocked(&again, synced))
		}
		return err
	}
	u.removed = true
	u.spool.forget(u.id)
	u.spool.journal.Release(u.at)
	u.content.remove()
	if later {
		u.spool.later.sync(u.spool)
	}
	_ = u.spool.fault(PointRemoved) // it is gone all the same
	return nil
}
