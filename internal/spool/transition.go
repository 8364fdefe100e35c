package spool

import (
	"errors"

	"github.com/archivefs/archivefs/archive"
)

// may refuses what the table of transitions does not allow in the upload's state, everything of
// an upload that was removed, and most of it during a delivery.
// +checklocks:u.mu
func (u *Upload) mayLocked(ev event) error {
	r := u.rec.Load()
	switch _, ok := ev.to[r.State]; {
	case u.removed.Load():
		return ErrRemoved
	case !ok, u.busy && !ev.busy, ev.when != nil && !ev.when(r):
		return refusal(ev.name, r)
	}
	return nil
}

// transitLocked is a transition: the record gets the state that the table has for the event, and
// what edit changes, and is written.
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
	next.State, next.Changed = to.of(&next), u.spool.now()
	if err := u.storeLocked(&next, as); err != nil {
		return err
	}
	if next.State != from {
		u.spoilt.Store(nil)
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

// seal seals the bytes unless they may change.
func (u *Upload) seal() { u.content.seal(!u.State().Written()) }

// Commit declares the data complete after an Update by edit, with one record for both. It is for a close that waits
// until it is archived, or, with queue, for one that is answered at once. When it returns, data and record of what is
// in the queue, or was synced before, are durable. After an error the upload is as before.
func (u *Upload) Commit(queue bool, edit func(*Record)) error {
	next := u.lockWith(edit)
	defer u.mu.Unlock()
	if queue {
		return u.commitLocked(onQueue, next)
	}
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
	from := next.State
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
	if !u.volatileLocked(ev.to[from]) {
		as = synced
	}
	u.checked = true
	return u.transitLocked(ev, as, func(r *Record) {
		*r = *next
		r.Reason, r.SHA256 = "", sum
		if r.SentSHA256 != sum {
			r.forgetSent()
		}
	})
}

// Reopen makes an upload that was closed, and is not being sent, created again, for another write.
func (u *Upload) Reopen() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.reopenLocked(onReopen)
}

// reopenLocked writes that the bytes may change, unless the record says so.
// +checklocks:u.mu
func (u *Upload) reopenLocked(ev event) error {
	if err := u.mayLocked(ev); err != nil {
		return err
	}
	switch r := u.rec.Load(); r.State {
	case ev.to[r.State]:
		return nil
	case Created: // a restart makes the same of both
		u.becomeLocked(ev.to[Created])
		return nil
	default:
		return u.transitLocked(ev, synced, func(r *Record) {
			r.Size, r.SHA256, r.Reason, r.Stopped, r.Rest = 0, "", "", false, 0 // its close gives it a time of grace
		})
	}
}

// becomeLocked gives the upload another state in this run only.
// +checklocks:u.mu
func (u *Upload) becomeLocked(s State) {
	r := u.Record()
	r.State = s
	u.rec.Store(&r)
}

// Recall takes an upload of which nothing was sent back from the queue, so that it can be changed. Recommit makes it
// what it was, Keep a local file; with the first change it is being written.
func (u *Upload) Recall() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.mayLocked(onRecall); err != nil {
		return err
	}
	return u.transitLocked(onRecall, synced, func(r *Record) { r.SHA256, r.Reason = "", "" })
}

// Touch says that a program is writing it; n bytes come next, up to end. Where there is no room for them a file that
// was closed stays so.
func (u *Upload) Touch(n, end int64) error {
	switch s := u.State(); {
	case s == Writing, s == Promised:
		return nil
	case !s.Written():
		return refusal(onTouch.name, u.rec.Load())
	case s != Created:
		if err := u.spool.saw(u.spool.budget.mayTake(n, max(0, end-u.Size()))); err != nil {
			return err
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.removed.Load() {
		return nil // still open somewhere; nothing is kept of it
	}
	return u.reopenLocked(onTouch)
}

// Spoil notes that a write or a sync failed with err: its bytes are not what the program meant.
func (u *Upload) Spoil(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.State() == Created {
		u.becomeLocked(Writing)
	}
	if u.State().Due() && u.spoilt.Load() == nil { // the first reason stays
		u.spoilt.Store(&err)
	}
}

// Spoilt returns with what Spoil was called since the bytes were opened, nil if it was not.
func (u *Upload) Spoilt() error {
	if err := u.spoilt.Load(); err != nil {
		return *err
	}
	return nil
}

// Keep makes an upload that every writer has closed a local file, after an Update by edit, with one record for both,
// which is durable when Keep returns. There is a reason if it was not taken when it was to become a document. That is
// for people, made printable, and stays until the file changes.
func (u *Upload) Keep(reason string, edit func(*Record)) error {
	next := u.lockWith(edit)
	defer u.mu.Unlock()
	if err := u.mayLocked(onKeep); err != nil {
		return err
	}
	next.Size, next.SHA256, next.Reason = u.Size(), "", archive.Printable(reason)
	next.Unwritten = u.content.unwritten()
	return u.transitLocked(onKeep, synced, func(r *Record) { *r = *next })
}

// Fail makes an upload failed, whatever it was, except confirmed. The reason is for people and is made
// printable. That an upload which was being sent may have arrived stays noted. One that turned out to be half a file
// (Record.Incomplete) stays in its folder all the same.
func (u *Upload) Fail(reason string, half bool) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	ev := onFail
	if half {
		ev = onFailShown
	}
	if err := u.mayLocked(ev); err != nil {
		return err
	}
	r := u.rec.Load()
	u.content.seal(true)
	defer u.seal()
	if (r.State.Written() || !u.durable) && !r.Directory {
		if err := u.content.sync(); err != nil { // the record matters more than the error
			u.log.Warn(err)
		}
	}
	return u.transitLocked(ev, synced, func(r *Record) {
		if half {
			r.SHA256 = ""
		}
		r.fail(reason, u.Size())
		r.Unwritten = u.content.unwritten()
	})
}

// Retry queues a failed upload again, so that Deliver sends it; when an earlier attempt may have arrived, that looks
// first. An empty file is not taken (ErrEmpty), and one that was never complete only with asItIs (ErrIncomplete). One
// that is queued already forgets why it waits.
func (u *Upload) Retry(asItIs bool) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.mayLocked(onRetry); err != nil {
		return err
	}
	next := u.Record()
	next.Reason = ""
	switch r := u.rec.Load(); {
	case !r.State.IsFailed() && r.Reason == "":
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
	case u.removed.Load():
		return nil
	case u.busy:
		return refusal("remove", u.rec.Load())
	}
	lasts := u.durable || u.State() == Confirmed
	r := u.rec.Load()
	later := r.State == Confirmed && u.spool.keys.Load() // SyncRemovals
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
	u.removed.Store(true)
	u.spool.forget(u.id)
	u.spool.journal.Release(u.at)
	u.content.remove()
	if later {
		u.spool.later.sync(u.spool)
	}
	_ = u.spool.fault(PointRemoved) // it is gone all the same
	return nil
}
