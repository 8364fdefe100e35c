package spool

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/archivefs/archivefs/archive"
)

// accepted ends the delivery after the service took what was sent. An id that it did not
// tell is looked for when the record says already that the archive has it.
func (d *delivery) accepted(ctx context.Context, id archive.ID) (archive.ID, error) {
	if id == 0 {
		d.confirmed(0)
		id = d.identify(ctx)
	} else if err := d.recognise(context.WithoutCancel(ctx), id); err != nil {
		return 0, d.fail(ctx, err, archive.Away(err))
	}
	return d.confirm(id)
}

// confirm ends the delivery of what the archive has.
func (d *delivery) confirm(id archive.ID) (archive.ID, error) {
	d.confirmed(id)
	d.u.receipt()
	return id, nil
}

// confirmed makes the upload confirmed. The archive has it, so an error of this disk is no
// error of the delivery: the next run looks, and finds it. That the record goes (Remove) is
// durable, so that what comes before needs not be.
func (d *delivery) confirmed(id archive.ID) {
	u := d.u
	u.mu.Lock()
	defer u.mu.Unlock()
	outlasts := nothing
	if stays := id == 0 || u.rec.Load().AutoExport; stays {
		outlasts = theMachine
		d.secureLocked()
	}
	confirmed := func(r *Record) {
		r.State, r.Document, r.Had, r.Doubtful, r.Visible, r.Reason = Confirmed, id, d.had, false, false, ""
	}
	if err := u.transit(PointAnswered, PointConfirmed, confirmed, outlasts); err != nil {
		d.log.Errorf("document %d is archived, which could not be written down: %v", id, err)
		r := u.rec.Load().clone()
		confirmed(&r)
		u.rec.Store(&r)
	}
}

// receipt writes into the log that the archive confirmed the upload. The log tells people;
// without it the document is archived all the same.
func (u *Upload) receipt() {
	if r := u.rec.Load(); !r.Directory {
		if err := u.spool.receipts.add(r); err != nil {
			u.spool.log.WithField("upload", u.id).Error(err)
		}
	}
}

// fail ends the delivery with err: the upload is failed, or stays in the queue. doubtful
// says that something was sent that may have arrived, or still may, so that it is looked
// for before anything is sent again.
func (d *delivery) fail(ctx context.Context, err error, doubtful bool) error {
	d.log.Infof("not archived: %v", err)
	state := Failed
	if d.patience.policy.Queue && (waits(err) || ctx.Err() != nil) {
		state = Committed
		if doubtful && !d.absent {
			state = Sending
		}
	}
	u := d.u
	u.mu.Lock()
	defer u.mu.Unlock()
	d.secureLocked()
	u.outcome = fmt.Errorf("upload %s: %w", u.id, err)
	failed := func(r *Record) {
		r.State, r.Doubtful, r.Reason = state, doubtful, archive.Printable(err.Error())
		r.Queued = r.Queued && state != Failed
		r.Refused = r.Refused || d.sent > 0 && state == Failed && !doubtful
	}
	if werr := u.step(PointFail, PointFailed, failed); werr != nil {
		return errors.Join(u.outcome, werr)
	}
	return u.outcome
}

// declined reports whether err is the service's word that it did not take what was sent, now.
func declined(err error) bool {
	var e *archive.Error
	return errors.As(err, &e) && !e.Unsent && (e.Kind == archive.KindBusy || e.RetryAfter > 0)
}

// secureLocked makes a loose upload durable whose end is in doubt, or that is kept. The record
// that follows matters more than an error. The caller holds mu of the upload.
func (d *delivery) secureLocked() {
	if err := d.u.secureLocked(); err != nil {
		d.log.Warn(err)
	}
}

// waits reports whether an upload that failed with err is worth another attempt later: the
// service is away, or does not take these credentials, or the disk of the spool is full,
// which is not the document's fault.
func waits(err error) bool {
	if errors.Is(err, errUndecided) {
		return false
	}
	return archive.Away(err) || archive.KindOf(err) == archive.KindUnauthorized || errors.Is(err, syscall.ENOSPC)
}
