package spool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// Baseline returns the documents of the upload's folder as known before it is sent: all of
// them, without a filter; nil where they are not known. It may answer from memory; what it
// lacks costs looks, never a second document.
type Baseline func(context.Context) ([]*archive.Document, error)

// ErrNotArrived is part of the error where looks, which the service answered, did not show what was
// sent.
var ErrNotArrived = errors.New("it did not arrive")

// Unanswered reports whether an upload waits because a service that answers otherwise did not
// answer in time when it was sent, and does not show it so far.
func Unanswered(err error) bool {
	return errors.Is(err, ErrNotArrived) && archive.KindOf(err) == archive.KindTimeout
}

// errCutOff stands for the end of an attempt that an earlier run had begun, errEarlier for
// that of one by this run or another.
var (
	errCutOff  = errors.New("the program or the machine stopped while it was sent")
	errEarlier = errors.New("an earlier attempt ended without an answer")
)

// Deliver sends a committed upload, or finishes one that was being sent, and returns when
// it is confirmed, with the document's id (0 when the service does not tell), or failed,
// with the error that tells why: it wraps the service's *archive.Error. baseline may be
// nil, then the folder is listed.
//
// What has begun is not given up when ctx ends; then it is only not repeated. A second
// Deliver of the same upload waits for the first and answers the same.
func (s *Spool) Deliver(ctx context.Context, u *Upload, a Archive, baseline Baseline) (archive.ID, error) {
	return s.DeliverWith(ctx, u, a, baseline, Policy{RetryFor: s.opts.RetryFor, Attempts: foregroundAttempts})
}

// DeliverWith is Deliver under a policy of the caller's.
func (s *Spool) DeliverWith(ctx context.Context, u *Upload, a Archive, baseline Baseline, p Policy) (archive.ID, error) {
	return s.deliver(ctx, u, p, func(d *delivery) (archive.ID, error) {
		d.a, d.baseline = a, baseline
		return d.withData(ctx, d.run)
	})
}

// Resolve finds out, without sending anything, what became of an upload that an earlier
// run had begun to send: it is confirmed when the archive has it, else failed. While the
// service is away it is what it was, with the reason.
func (s *Spool) Resolve(ctx context.Context, u *Upload, a Archive) (archive.ID, error) {
	p := Policy{RetryFor: s.opts.RetryFor, Queue: true}
	return s.deliver(ctx, u, p, func(d *delivery) (archive.ID, error) {
		d.a = a
		return d.withData(ctx, d.resolve)
	})
}

// delivery is one call of Deliver: the only one at work on its upload.
type delivery struct {
	u        *Upload
	a        Archive
	baseline Baseline
	// looks shows whether what was sent is there.
	looks    func(context.Context) verdict
	patience patience
	log      logrus.FieldLogger
	sent     int // times the service was asked
	// absent says that looks over some time did not show what was sent last, so that it
	// may be changed before it is sent again.
	absent bool
	// listed is what the folder held before it was sent, nil when that was not asked here.
	listed []*archive.Document
	had    string // Record.Had
}

// deliver runs work as the only delivery of u.
func (s *Spool) deliver(ctx context.Context, u *Upload, p Policy, work func(*delivery) (archive.ID, error)) (archive.ID, error) {
	select {
	case u.turn <- struct{}{}:
		defer func() { <-u.turn }()
	case <-ctx.Done():
		return 0, fmt.Errorf("spool: wait for upload %s: %w", u.id, ctx.Err())
	}
	done, err := u.beginDelivery()
	if done || err != nil {
		return u.rec.Load().Document, err
	}
	defer u.endDelivery()
	d := &delivery{
		u: u, log: s.log.WithField("upload", u.id),
		patience: patience{policy: p, now: s.opts.Now, sleep: s.opts.Sleep},
	}
	d.looks = d.look
	return work(d)
}

// withData keeps the data open during work.
func (d *delivery) withData(ctx context.Context, work func(context.Context) (archive.ID, error)) (archive.ID, error) {
	if err := d.u.Open(); err != nil {
		return 0, d.fail(ctx, err, d.u.rec.Load().inDoubt())
	}
	defer d.u.release()
	return work(ctx)
}

// beginDelivery keeps others from changing the upload; done says that it is confirmed
// already.
func (u *Upload) beginDelivery() (done bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.rec.Load().State == Confirmed {
		return true, nil
	}
	if err := u.may("deliver", Committed, Sending); err != nil {
		if u.outcome != nil && u.rec.Load().State == Failed {
			err = u.outcome // of the delivery that this one waited for
		}
		return false, err
	}
	u.busy, u.outcome = true, nil
	return false, nil
}

func (u *Upload) endDelivery() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.busy = false
}

// run sends, looks after every end in doubt, and repeats only what is not there.
func (d *delivery) run(ctx context.Context) (archive.ID, error) {
	if err := d.u.verify(); err != nil {
		return 0, d.fail(ctx, err, d.u.rec.Load().inDoubt())
	}
	var cause error
	switch r := d.u.rec.Load(); {
	case r.inDoubt():
		cause = errEarlier
	case r.Refused:
		v := d.lookRefused(ctx)
		if v.found {
			return d.confirm(v.id)
		}
		if err := v.failure(errRefused); err != nil {
			return 0, d.fail(ctx, err, false)
		}
	}
	for {
		if cause != nil {
			v := d.settle(ctx, cause)
			if v.found {
				return d.confirm(v.id)
			}
			if err := v.failure(cause); err != nil {
				return 0, d.fail(ctx, err, true)
			}
			if err := d.missed(cause); err != nil {
				return 0, d.fail(ctx, err, true)
			}
			if d.sent > 0 && !d.patience.mayRepeat(ctx, d.sent) {
				return 0, d.fail(ctx, fmt.Errorf("%w: %w", ErrNotArrived, cause), true)
			}
		}
		if err := d.prepare(ctx); err != nil {
			return 0, d.fail(ctx, err, d.u.rec.Load().inDoubt())
		}
		id, err := d.send(ctx)
		switch {
		case err == nil:
			return d.accepted(ctx, id)
		case !archive.Doubtful(err):
			return 0, d.fail(ctx, err, cause != nil)
		}
		cause = d.ended(err)
	}
}

// ended notes that an attempt ended in doubt, and when if there was no answer to it. It
// returns err.
func (d *delivery) ended(err error) error {
	d.u.mu.Lock()
	defer d.u.mu.Unlock()
	d.secureLocked()
	if archive.KindOf(err) == archive.KindTimeout {
		d.u.doubt = d.patience.now()
	}
	if d.patience.policy.Queue { // nobody waits: what was sent last is looked for as long as what was sent before
		d.patience.restart()
	}
	return err
}

// missed takes note that looks did not show what ended with cause. The error says that the
// service may still be at it, so that it is not to be sent again yet.
func (d *delivery) missed(cause error) error {
	d.u.mu.Lock()
	defer d.u.mu.Unlock()
	left := d.u.doubt.Add(d.u.spool.opts.LateBy).Sub(d.patience.now())
	if !d.u.doubt.IsZero() && left > 0 {
		return fmt.Errorf("%w so far, but may still in the next %s: %w", ErrNotArrived, left.Round(time.Second), &archive.Error{Kind: archive.KindTimeout, Err: cause})
	}
	d.absent = archive.KindOf(cause) != archive.KindTimeout
	return nil
}

// resolve is run without sending.
func (d *delivery) resolve(ctx context.Context) (archive.ID, error) {
	if !d.u.rec.Load().inDoubt() {
		return 0, d.fail(ctx, fmt.Errorf("it was not sent: %w", errCutOff), false)
	}
	v := d.settle(ctx, errCutOff)
	if v.found {
		return d.confirm(v.id)
	}
	err := v.failure(errCutOff)
	if err == nil {
		err = fmt.Errorf("it did not arrive: %w", errCutOff)
	}
	return 0, d.fail(ctx, err, true)
}
