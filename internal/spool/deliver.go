package spool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// Archive is what Deliver needs of the archive service. Errors are judged by their archive.Kind.
type Archive interface {
	// Upload sends a new document and returns its id, 0 when the answer lacks it.
	Upload(ctx context.Context, up archive.Upload, body archive.Blob) (archive.ID, error)
	// Replace sends new content for an inbox document.
	Replace(ctx context.Context, doc archive.ID, name string, keywords []string, body archive.Blob) error
	// Documents lists a folder.
	Documents(ctx context.Context, folder archive.ID, opts archive.ListOptions) ([]archive.Document, error)
	// Data returns the data of a document, with its external id where it is shown.
	Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error)
	// Content opens a document's bytes.
	Content(ctx context.Context, req archive.ContentRequest) (*archive.Content, error)
	// UploadedWith returns the other documents of a document's upload.
	UploadedWith(ctx context.Context, doc archive.ID) ([]archive.ID, error)
}

// Baseline returns the documents of the upload's folder as known before it is sent: all of them, without a filter; nil
// where they are not known. It may answer from memory; what it lacks costs looks, never a second document.
type Baseline func(context.Context) ([]*archive.Document, error)

// errNotArrived is part of the error when the service answered looks that did not show what was sent.
var errNotArrived = errors.New("it did not arrive")

// Unanswered reports whether err says that an upload waits because a service that answers
// other requests did not answer in time when it was sent, and does not show it so far.
func Unanswered(err error) bool {
	return errors.Is(err, errNotArrived) && archive.KindOf(err) == archive.KindTimeout
}

var (
	// errCutOff stands for the end of an attempt of an earlier run, errEarlier for that of one of
	// any run, errRefused for the end of an earlier delivery that failed.
	errCutOff  = errors.New("the program or the machine stopped while it was sent")
	errEarlier = errors.New("an earlier attempt ended without an answer")
	errRefused = errors.New("an earlier attempt to send it failed")
	// errUnlisted: an answer without an id may be one of something in between.
	errUnlisted = errors.New("the service answered that it took it, and does not list it")
	errDamaged  = errors.New("its data is damaged: it is not what was written")
)

// Deliver sends a committed upload, or finishes one that was being sent. It returns when the upload is confirmed, with
// the document's id (0 when the service does not tell), or failed, with an error that wraps the service's
// *archive.Error. Without a baseline (nil) the folder is listed.
//
// A request that has begun goes on when ctx ends; it is only not repeated. A second Deliver of
// the same upload waits for the first and returns the same.
func Deliver(ctx context.Context, u *Upload, a Archive, baseline Baseline) (archive.ID, error) {
	return DeliverWith(ctx, u, a, baseline, Policy{RetryFor: u.spool.opts.RetryFor, Attempts: foregroundAttempts})
}

// DeliverWith is Deliver under a policy of the caller's.
func DeliverWith(ctx context.Context, u *Upload, a Archive, baseline Baseline, p Policy) (archive.ID, error) {
	return deliver(ctx, u, p, onSend, func(d *delivery) (archive.ID, error) {
		d.a, d.baseline = a, baseline
		return d.withData(ctx, d.run)
	})
}

// Resolve finds out, without sending anything, what became of an upload that an earlier
// run had begun to send: it becomes confirmed when the archive has it, else failed. With wait it stays what it was while
// the service is away, with the reason. One that failed in doubt is looked for once, and stays what it was unless it is found.
func Resolve(ctx context.Context, u *Upload, a Archive, wait bool) (archive.ID, error) {
	p := Policy{RetryFor: u.spool.opts.RetryFor, Queue: wait}
	return deliver(ctx, u, p, onLook, func(d *delivery) (archive.ID, error) {
		d.a = a
		return d.withData(ctx, d.resolve)
	})
}

// Settle looks once for an upload that was confirmed without an id, and returns the documents that it may be. Its
// record has the id if one is it for certain. While the folder lists none there is an error, and it stays confirmed. With
// last it has failed then, in doubt: something in between may have answered in the place of the service.
func Settle(ctx context.Context, u *Upload, a Archive, last bool) (as []archive.ID, err error) {
	id, err := deliver(ctx, u, Policy{Queue: true}, onUnlisted, func(d *delivery) (archive.ID, error) {
		d.a = a
		v := d.looks(context.WithoutCancel(ctx))
		err := v.err
		switch {
		case v.found:
			return d.confirm(ctx, v.id)
		case len(v.open) > 0:
			as = v.open
			return 0, nil
		case err == nil:
			err = errUnlisted
		}
		if last && !waits(err) {
			err = d.fail(ctx, err, true)
		}
		return 0, err
	})
	if id != 0 {
		as = []archive.ID{id}
	}
	return as, err
}

// Continue makes u the next attempt at an upload of the same bytes that failed in doubt: what was sent for that counts
// as sent for u, which is committed.
func Continue(u, earlier *Upload) error {
	was := earlier.Record()
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.mayLocked(onSend); err != nil {
		return err
	}
	return u.transitLocked(onUpdate, asBefore, func(r *Record) {
		r.SentID, r.SentName, r.SentFolder, r.SentReplace = was.SentID, was.SentName, was.SentFolder, was.SentReplace
		r.SentSHA256, r.Baseline, r.Doubtful = was.SentSHA256, was.Baseline, was.Doubtful
	})
}

// delivery is one call of Deliver, the only one at work on its upload: its attempts, and what the service answered.
type delivery struct {
	u        *Upload
	a        Archive
	baseline Baseline
	looks    func(context.Context) verdict // shows whether what was sent is there
	patience patience
	log      logrus.FieldLogger
	sent     int // times the service was asked
	// absent says that looks over some time did not show what was sent last, so that it
	// may be changed before it is sent again.
	absent bool
	listed []*archive.Document // what the folder held before it was sent; nil when not listed here
	had    string              // Record.Had
	open   []archive.ID        // Record.Open
}

// deliver runs work as the only delivery of u, if ev is allowed.
func deliver(ctx context.Context, u *Upload, p Policy, ev event, work func(*delivery) (archive.ID, error)) (archive.ID, error) {
	select {
	case u.turn <- struct{}{}:
		defer func() { <-u.turn }()
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for upload %s: %w", u.id, ctx.Err())
	}
	d := &delivery{u: u, log: u.log, patience: patience{policy: p, now: u.spool.opts.Now, sleep: u.spool.opts.Sleep}}
	d.looks = d.look
	if done, err := d.begin(ev); done || err != nil {
		return u.rec.Load().Document, err
	}
	defer d.end()
	return work(d)
}

// withData runs work with the data open.
func (d *delivery) withData(ctx context.Context, work func(context.Context) (archive.ID, error)) (archive.ID, error) {
	if err := d.u.Open(); err != nil {
		return 0, d.fail(ctx, err, d.u.rec.Load().inDoubt())
	}
	defer d.u.content.release()
	return work(ctx)
}

// begin keeps others from changing the upload; done says that it is confirmed already.
func (d *delivery) begin(ev event) (done bool, err error) {
	u := d.u
	u.mu.Lock()
	defer u.mu.Unlock()
	switch err := u.mayLocked(ev); {
	case err == nil:
		u.busy, u.outcome = true, nil
		return false, nil
	case u.State() == Confirmed:
		return true, nil
	case u.outcome != nil && u.State().IsFailed():
		return false, u.outcome // of the delivery that this one waited for
	default:
		return false, err
	}
}

func (d *delivery) end() {
	d.u.mu.Lock()
	defer d.u.mu.Unlock()
	d.u.busy = false
}

// run sends, looks after every end in doubt, and repeats only what is not there.
func (d *delivery) run(ctx context.Context) (archive.ID, error) {
	if err := d.u.Verify(); err != nil {
		return 0, d.fail(ctx, err, d.u.rec.Load().inDoubt())
	}
	var cause error
	switch r := d.u.rec.Load(); {
	case r.inDoubt():
		cause = errEarlier
	case r.Refused: // the service, or a proxy before it, can refuse what it has taken
		v := d.looks(context.WithoutCancel(ctx))
		if v.found {
			return d.confirm(ctx, v.id)
		}
		if !waits(v.err) { // as in a folder that is gone: the refusal holds
			v.err = nil
		}
		if err := v.failure(errRefused); err != nil {
			return 0, d.fail(ctx, err, false)
		}
	}
	for {
		if cause != nil {
			v := d.findOut(ctx, cause)
			if v.found {
				return d.confirm(ctx, v.id)
			}
			if err := v.failure(cause); err != nil {
				return 0, d.fail(ctx, err, true)
			}
			if err := d.missed(cause); err != nil {
				return 0, d.fail(ctx, err, true)
			}
			if d.sent > 0 && !d.patience.mayRepeat(ctx, d.sent) {
				return 0, d.fail(ctx, fmt.Errorf("%w: %w", errNotArrived, cause), true)
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

// ended notes that an attempt ended in doubt, and when if it was not answered. It returns err.
func (d *delivery) ended(err error) error {
	d.u.mu.Lock()
	defer d.u.mu.Unlock()
	d.syncLocked()
	if archive.KindOf(err) == archive.KindTimeout {
		d.u.doubt = d.patience.now()
	}
	if d.patience.policy.Queue { // nobody waits: there is time to look for each attempt
		d.patience.restart()
	}
	return err
}

// missed takes note that looks did not show what ended with cause. The error says that it may
// still arrive, and is not to be sent again yet.
func (d *delivery) missed(cause error) error {
	d.u.mu.Lock()
	defer d.u.mu.Unlock()
	left := d.u.doubt.Add(d.u.spool.opts.LateBy).Sub(d.patience.now())
	if !d.u.doubt.IsZero() && left > 0 {
		if archive.KindOf(cause) != archive.KindTimeout {
			cause = &archive.Error{Kind: archive.KindTimeout, Err: cause}
		}
		return fmt.Errorf("%w so far, but may still in the next %s: %w", errNotArrived, left.Round(time.Second), cause)
	}
	d.absent = archive.KindOf(cause) != archive.KindTimeout
	return nil
}

// resolve is run without sending.
func (d *delivery) resolve(ctx context.Context) (archive.ID, error) {
	if !d.u.rec.Load().inDoubt() {
		return 0, d.fail(ctx, fmt.Errorf("it was not sent: %w", errCutOff), false)
	}
	if d.u.State().IsFailed() {
		if v := d.looks(context.WithoutCancel(ctx)); v.found {
			return d.confirm(ctx, v.id)
		}
		return 0, errNotArrived
	}
	v := d.findOut(ctx, errCutOff)
	if v.found {
		return d.confirm(ctx, v.id)
	}
	err := v.failure(errCutOff)
	if err == nil {
		err = fmt.Errorf("%w: %w", errNotArrived, errCutOff)
	}
	return 0, d.fail(ctx, err, true)
}

// idPrefix begins the idempotency keys that are made up here.
const idPrefix = "archivefs-"

// prepare writes down what is about to be sent, durably unless the upload is volatile.
// Nothing was sent before, or the archive was seen not to have it.
func (d *delivery) prepare(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("given up before it was sent: %w", err)
	}
	r := d.u.rec.Load()
	if r.Size == 0 {
		return ErrEmpty
	}
	next := r.clone()
	if !r.repeats() {
		if err := d.aim(ctx, r, &next); err != nil {
			return err
		}
	}
	if err := d.awaitLate(ctx, r.Replace); err != nil {
		return err
	}
	u := d.u
	u.mu.Lock()
	defer u.mu.Unlock()
	as := synced
	if u.volatileLocked(u.State()) {
		as = asBefore
	}
	return u.transitLocked(onSend, as, func(r *Record) {
		r.SentID, r.SentSHA256 = next.SentID, r.SHA256
		r.SentName, r.SentFolder, r.SentReplace = r.documentName(), r.Folder, r.Replace
		r.Split, r.Baseline, r.Open, r.Refused, r.Reason = next.Split, next.Baseline, nil, false, ""
		r.Attempts++
	})
}

// awaitLate waits until no earlier replacement of a document can arrive any more, or come back with
// a crash: it would undo the one that is about to be sent. Without a document it returns at once.
func (d *delivery) awaitLate(ctx context.Context, doc archive.ID) error {
	if doc == 0 {
		return nil
	}
	for left := d.u.spool.lateReplacement(doc); left > 0; left = d.u.spool.lateReplacement(doc) {
		d.log.Infof("waits %s: an earlier replacement of document %s may still arrive", left.Round(time.Second), doc)
		if err := d.patience.sleep(ctx, left); err != nil {
			return fmt.Errorf("given up while an earlier replacement of document %s may still arrive: %w", doc, err)
		}
	}
	return d.u.spool.SyncRemovals()
}

// lateReplacement is how long a replacement of the document that was not answered, or was cut off, may still arrive.
func (s *Spool) lateReplacement(doc archive.ID) (left time.Duration) {
	if began, crashed := s.crashed[doc]; crashed {
		left = max(0, began.Add(s.opts.LateBy).Sub(s.opts.Now()))
	}
	for _, u := range s.List() {
		u.mu.Lock()
		r, doubt := u.rec.Load(), u.doubt
		u.mu.Unlock()
		if !doubt.IsZero() && r.State != Confirmed && (r.Replace == doc || r.SentReplace == doc) {
			left = max(left, doubt.Add(s.opts.LateBy).Sub(s.opts.Now()))
		}
	}
	return left
}

// aim takes the baseline of the folder and chooses the idempotency key. One that was sent
// already, and may arrive, is kept: a document with it is ours whenever it comes.
func (d *delivery) aim(ctx context.Context, r, next *Record) error {
	if r.Replace != 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	docs, err := d.listFolder(ctx, r)
	if err != nil {
		return fmt.Errorf("before sending it: %w", err)
	}
	d.listed = docs
	name := r.documentName()
	next.Split = r.Splits()
	next.Baseline = nil
	like := likenessOf(name)
	for _, doc := range docs {
		if next.Split || like.matches(doc.Name) {
			next.Baseline = append(next.Baseline, doc.ID)
		}
	}
	switch {
	case r.ExternalID != "":
		next.SentID = r.ExternalID
	case !r.inDoubt() || !strings.HasPrefix(r.SentID, idPrefix):
		if next.SentID, err = newKey(); err != nil {
			return err
		}
	}
	return nil
}

func newKey() (string, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("make up an external id: %w", err)
	}
	return idPrefix + id.String(), nil
}

// listFolder returns what the folder holds: as the caller of Deliver knows it, else as the
// service says, which alone counts after an end in doubt.
func (d *delivery) listFolder(ctx context.Context, r *Record) ([]*archive.Document, error) {
	if d.baseline != nil && !r.inDoubt() {
		if docs, err := d.baseline(ctx); docs != nil || err != nil {
			return docs, err
		}
	}
	docs, err := d.a.Documents(ctx, r.Folder, archive.ListOptions{})
	all := make([]*archive.Document, len(docs))
	for i := range docs {
		all[i] = &docs[i]
	}
	return all, err
}

func (d *delivery) send(ctx context.Context) (archive.ID, error) {
	ctx = context.WithoutCancel(ctx)
	d.sent++
	d.absent = false
	r := d.u.Record()
	body := blob{upload: d.u, size: r.Size}
	defer d.u.sent.Store(0)
	if r.Replace != 0 {
		err := d.a.Replace(ctx, r.Replace, r.SentName, r.Keywords, body)
		if archive.KindOf(err) == archive.KindNotFound {
			err = goneError(r.Replace, err)
		}
		return r.Replace, err
	}
	r.ExternalID = r.SentID
	return d.a.Upload(ctx, archive.Upload{Folder: r.SentFolder, Name: r.SentName, Attributes: r.Attributes}, body)
}

// blob is the data of a sealed upload.
type blob struct {
	upload *Upload
	size   int64
}

func (b blob) ReadAt(p []byte, off int64) (int, error) {
	n, err := b.upload.ReadAt(p, off)
	b.upload.sent.Store(off + int64(n))
	return n, err
}

func (b blob) Size() int64 { return b.size }

// accepted ends the delivery after the service took what was sent. Where it did not tell the
// id, the record first says that the archive has it, and then the id is looked for.
func (d *delivery) accepted(ctx context.Context, id archive.ID) (archive.ID, error) {
	if id = d.numbered(context.WithoutCancel(ctx), id); id == 0 {
		d.confirmed(0)
		id = d.identify(ctx)
	} else if err := d.recognise(context.WithoutCancel(ctx), id); err != nil {
		return 0, d.fail(ctx, err, archive.Away(err))
	}
	return d.confirm(ctx, id)
}

// numbered returns the id that the service answered, 0 if no document has it: a service may answer with the
// number of a job. One that is a document's tells for all that follow.
func (d *delivery) numbered(ctx context.Context, id archive.ID) archive.ID {
	if id == 0 || d.u.rec.Load().SentReplace != 0 || d.u.spool.numbers.Load() {
		return id
	}
	data, err := d.a.Data(ctx, id)
	if archive.KindOf(err) == archive.KindNotFound {
		d.log.Infof("the service answered with the number %s, which no document has", id)
		return 0
	}
	d.u.spool.numbers.CompareAndSwap(false, err == nil)
	d.u.spool.keys.CompareAndSwap(false, err == nil && data.ExternalID == d.u.rec.Load().SentID)
	return id
}

// confirm ends the delivery of what the archive has.
func (d *delivery) confirm(ctx context.Context, id archive.ID) (archive.ID, error) {
	d.confirmed(id)
	d.u.spool.receipt(d.u, d.others(ctx, id))
	return id, nil
}

// others returns the other documents that the service made of an e-mail; none if it does not tell. It may
// answer 404 while it processes an upload: nobody waits for one of the queue, so for that it is asked again,
// until it was seen that this does not help.
func (d *delivery) others(ctx context.Context, id archive.ID) []archive.ID {
	if id == 0 || !d.u.rec.Load().Split {
		return nil
	}
	d.patience.restart()
	ids, err := d.a.UploadedWith(ctx, id)
	for archive.KindOf(err) == archive.KindNotFound && d.patience.policy.Queue && !d.u.spool.silent.Load() && d.patience.pause(ctx, longestWait) {
		ids, err = d.a.UploadedWith(ctx, id)
		d.u.spool.silent.Store(err != nil && d.patience.pauses > mostAsked)
	}
	if err != nil {
		d.log.Infof("which documents came of it besides %s is not known: %v", id, err)
	}
	return ids
}

// confirmed makes the upload confirmed. The archive has it, so an error of this disk is no error of the delivery: the
// next run looks, and finds it. The record is synced only when it stays; else Remove follows, which is durable.
func (d *delivery) confirmed(id archive.ID) {
	u := d.u
	u.mu.Lock()
	defer u.mu.Unlock()
	as := unsynced
	if stays := id == 0 || u.rec.Load().AutoExport; stays {
		as = synced
		d.syncLocked()
	}
	if err := u.insistLocked(onConfirm, as, func(r *Record) {
		r.Document, r.Had, r.Doubtful, r.Reason = id, d.had, false, ""
	}); err != nil {
		d.log.Errorf("document %s is archived, which could not be written down: %v", id, err)
	}
}

// receipt writes into the log that the archive confirmed the upload. The log is for people;
// without it the document is archived all the same.
func (s *Spool) receipt(u *Upload, others []archive.ID) {
	if r := u.rec.Load(); !r.Directory {
		if err := s.receipts.add(r, others); err != nil {
			u.log.Error(err)
		}
	}
}

// fail ends the delivery with err: the upload is failed, or stays in the queue. doubtful says that something was sent
// that may have arrived, or still may, so that it is looked for before anything is sent again.
func (d *delivery) fail(ctx context.Context, err error, doubtful bool) error {
	d.log.Infof("not archived: %v", err)
	queued := d.patience.policy.Queue && (waits(err) || ctx.Err() != nil)
	ev := onGiveUp
	switch {
	case d.u.State() == Confirmed:
		ev = onUnlisted
	case queued && doubtful && !d.absent:
		ev = onWaitInDoubt
	case queued:
		ev = onWaitUnsent
	}
	u := d.u
	u.mu.Lock()
	defer u.mu.Unlock()
	d.syncLocked()
	u.outcome = fmt.Errorf("upload %s: %w", u.id, err)
	failed := func(r *Record) {
		r.Doubtful, r.Rest, r.Reason = doubtful, 0, archive.Printable(err.Error())
		if len(d.open) > 0 {
			r.Open = d.open
		}
		r.Refused = r.Refused || d.sent > 0 && !queued && !doubtful
	}
	if werr := u.transitLocked(ev, synced, failed); werr != nil {
		return errors.Join(u.outcome, werr)
	}
	return u.outcome
}

// declined reports whether err is the service's word that it did not take what was sent.
func declined(err error) bool {
	var e *archive.Error
	return errors.As(err, &e) && !e.Unsent && (e.Kind == archive.KindBusy || e.RetryAfter > 0)
}

// syncLocked makes a volatile upload durable whose end is in doubt, or that is kept. The record
// that follows matters more than an error.
// +checklocks:d.u.mu
func (d *delivery) syncLocked() {
	if err := d.u.syncLocked(); err != nil {
		d.log.Warn(err)
	}
}

// waits reports whether an upload that failed with err is worth another attempt later: the service is away or refuses
// the credentials, or the spool's disk is full. Then the document is not at fault.
func waits(err error) bool {
	return !errors.Is(err, errUndecided) && (archive.Away(err) || archive.KindOf(err) == archive.KindUnauthorized || errors.Is(err, syscall.ENOSPC))
}
