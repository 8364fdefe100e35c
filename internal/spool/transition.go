package spool

import (
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// Commit declares the data complete: created becomes committed. When it returns, data and
// record of an upload that is Queued survive a crash of the machine, and so do those of one
// that was synced before. After an error the upload is created as before.
func (u *Upload) Commit() error { return u.CommitAs(func(*Record) {}) }

// CommitAs is Commit after an Update by edit, with one record for both.
func (u *Upload) CommitAs(edit func(*Record)) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sealLocked(edit)
}

// Recommit is Commit for an upload that was recalled and has not changed since; for one that
// somebody has begun to change the error is a *StateError.
func (u *Upload) Recommit() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r := u.rec.Load(); !r.Closed || !r.Queued {
		return u.stateError("commit again")
	}
	return u.sealLocked(func(*Record) {})
}

// sealLocked commits with what edit changes. The caller holds mu.
func (u *Upload) sealLocked(edit func(*Record)) error {
	if err := u.may("commit", Created); err != nil {
		return err
	}
	u.content.seal(true)
	err := u.commitLocked(PointCommit, PointCommitted, func(r *Record) {
		before := u.rec.Load()
		edit(r)
		before.keepOwned(r)
		r.Visible = false
	})
	if err != nil && u.rec.Load().State == Created {
		u.content.seal(false)
	}
	return err
}

// commitLocked takes the checksum of the sealed data and makes all durable unless it is loose,
// with what edit changes. Bytes other than those sent before start anew. The caller holds mu.
func (u *Upload) commitLocked(before, after Point, edit func(*Record)) error {
	f, err := u.content.acquire()
	if err != nil {
		return err
	}
	defer u.release()
	size := u.Size()
	if size == 0 {
		return ErrEmpty
	}
	sum, err := u.content.sum(f)
	if err != nil {
		return err
	}
	next := u.rec.Load().clone()
	edit(&next)
	outlasts := asBefore
	if !u.looseLocked(&next) {
		if err := u.syncData(); err != nil {
			return err
		}
		outlasts = theMachine
	}
	err = u.transit(before, after, func(r *Record) {
		*r = next
		r.State, r.Closed, r.Reason = Committed, false, ""
		r.Size, r.SHA256 = size, sum
		if r.SentSHA256 != sum {
			r.forgetSent()
		}
	}, outlasts)
	u.checked = true
	return err
}

// Reopen makes a committed or failed upload created again, for another write. On one that
// is created it makes a local file unfinished.
func (u *Upload) Reopen() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.may("reopen", Created, Committed, Failed); err != nil {
		return err
	}
	return u.reopenLocked()
}

func (u *Upload) reopenLocked() error {
	r := u.rec.Load()
	switch {
	case r.Directory:
		return u.stateError("reopen")
	case r.State == Created && !r.Closed:
		return nil
	}
	err := u.step(PointReopen, PointReopened, func(r *Record) {
		r.State, r.Closed, r.Queued, r.Size, r.SHA256, r.Reason = Created, false, false, 0, "", ""
	})
	if u.rec.Load().State == Created {
		u.content.seal(false)
	}
	return err
}

// Recall takes a committed upload back from the queue, so that it can be changed: it is
// created and closed, as a local file is, and still queued. Commit makes it what it was,
// Keep a local file; the first change makes it unfinished.
func (u *Upload) Recall() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.may("recall", Committed); err != nil {
		return err
	}
	if r := u.rec.Load(); r.Directory || !r.Queued {
		return u.stateError("recall")
	}
	err := u.step(PointReopen, PointReopened, func(r *Record) {
		r.State, r.Closed, r.SHA256, r.Reason = Created, true, "", ""
	})
	if u.rec.Load().State == Created {
		u.content.seal(false)
	}
	return err
}

// unfinish makes a local file unfinished before n bytes are written, up to end. Where there
// is no room for them it stays finished.
func (u *Upload) unfinish(n, end int64) error {
	if r := u.rec.Load(); r.State != Created || !r.Closed {
		return nil
	}
	if err := u.spool.saw(u.spool.budget.mayTake(n, max(0, end-u.Size()))); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.removed {
		return nil // still open somewhere; nothing is kept of it
	}
	if r := u.rec.Load(); r.State != Created {
		return u.stateError("write to")
	}
	return u.reopenLocked()
}

// Keep declares an upload that is created a local file, which every writer has closed. It
// is durable when Keep returns.
func (u *Upload) Keep() error { return u.keep("") }

// KeepRefused is Keep for a local file that was not taken when it was to become a document.
// The reason is for people, made printable, and stays until the file changes.
func (u *Upload) KeepRefused(reason string) error { return u.keep(archive.Printable(reason)) }

func (u *Upload) keep(reason string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.may("keep", Created); err != nil {
		return err
	}
	size := u.Size()
	if err := u.syncData(); err != nil {
		return err
	}
	return u.step(PointKeep, PointKept, func(r *Record) {
		r.Closed, r.Queued, r.Size, r.Reason = true, false, size, reason
	})
}

// Fail makes an upload failed, whatever it was, except confirmed. visible says that it
// stays in its folder. The reason is for people and is made printable. An upload that was
// being sent may have arrived, which stays noted.
func (u *Upload) Fail(reason string, visible bool) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.may("fail", Created, Committed, Sending, Failed); err != nil {
		return err
	}
	return u.failLocked(reason, visible)
}

func (u *Upload) failLocked(reason string, visible bool) error {
	size := u.Size()
	if before := u.content.seal(true); (!before || !u.linked) && !u.rec.Load().Directory {
		if err := u.syncData(); err != nil { // the record matters more than the error
			u.spool.log.WithField("upload", u.id).Warn(err)
		}
	}
	err := u.step(PointFail, PointFailed, func(r *Record) {
		r.Doubtful = r.Doubtful || r.State == Sending
		if r.SHA256 == "" {
			r.Size = size
		}
		r.State, r.Closed, r.Queued, r.Visible, r.Reason = Failed, false, false, visible, archive.Printable(reason)
	})
	if err != nil && u.rec.Load().State == Created {
		u.content.seal(false)
	}
	return err
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
	if err := u.may("retry", Committed, Sending, Failed); err != nil {
		return err
	}
	r := u.rec.Load()
	switch {
	case r.State != Failed && !r.Queued:
		return u.stateError("retry")
	case r.State != Failed && r.Reason == "":
		return nil
	case r.State != Failed:
		return u.step(PointRetry, PointRetried, func(r *Record) { r.Reason = "" })
	case r.Incomplete() && u.Size() == 0:
		return ErrEmpty
	case r.Incomplete() && !asItIs:
		return ErrIncomplete
	case r.Incomplete():
		return u.commitLocked(PointRetry, PointRetried, func(c *Record) { c.Visible, c.Queued = r.Visible, true })
	}
	return u.step(PointRetry, PointRetried, func(r *Record) { r.State, r.Queued, r.Reason = Committed, true, "" })
}

// Remove forgets an upload and its bytes. Who has it open can read and write on until
// Close. While it is delivered it cannot be removed (*StateError).
func (u *Upload) Remove() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.removed:
		return nil
	case u.busy:
		return u.stateError("remove")
	}
	if err := u.spool.fault(PointRemove); err != nil {
		return err
	}
	lasts := u.linked || u.rec.Load().State == Confirmed
	trash, err := u.spool.hide(u.id, lasts)
	if err != nil {
		return err
	}
	u.removed = true
	u.spool.forget(u.id)
	if u.content.remove() {
		u.spool.budget.add(-u.Size())
	}
	if err := u.spool.fault(PointRemoveRenamed); err != nil {
		return err
	}
	if lasts {
		u.spool.trash.put(trash)
	} else { // a crash may bring back the name, so that all of it goes at once
		u.spool.trash.remove(trash)
	}
	return u.spool.fault(PointRemoved)
}
