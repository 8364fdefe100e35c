package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/archivefs/archivefs/archive"
)

// idPrefix begins the external ids that are made up here.
const idPrefix = "archivefs-"

// verify reads the data once in every run and compares it with the record, so that bytes
// that a crash or the disk changed are not archived as what was written.
func (u *Upload) verify() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.checked {
		return nil
	}
	f, err := u.content.acquire()
	if err != nil {
		return err
	}
	defer u.release()
	r := u.rec.Load()
	sum, n, err := sumOf(io.NewSectionReader(f, 0, r.Size+1), r.Size+1)
	if err != nil {
		return fmt.Errorf("its data cannot be read: %w", err)
	}
	if n != r.Size || sum != r.SHA256 {
		return errors.New("its data is damaged: it is not what was written")
	}
	u.checked = true
	return nil
}

// prepare writes down what is about to be sent, durably unless it is loose. Nothing was sent
// before, or the archive was seen not to have it.
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
	d.u.mu.Lock()
	defer d.u.mu.Unlock()
	return d.u.transit(PointSend, PointSending, func(r *Record) {
		r.SentID, r.SentSHA256 = next.SentID, r.SHA256
		r.SentName, r.SentFolder, r.SentReplace = r.documentName(), r.Folder, r.Replace
		r.Split, r.Baseline, r.Refused = next.Split, next.Baseline, false
		r.State, r.Reason = Sending, ""
		r.Attempts++
	}, d.u.outlastsLocked())
}

// awaitLate waits until no earlier replacement of a document can arrive any more: it would undo
// the one that is about to be sent.
func (d *delivery) awaitLate(ctx context.Context, doc archive.ID) error {
	for left := d.u.spool.lateReplacement(doc); left > 0; left = d.u.spool.lateReplacement(doc) {
		d.log.Infof("waits %s: an earlier replacement of document %d may still arrive", left.Round(time.Second), doc)
		if err := d.patience.sleep(ctx, left); err != nil {
			return fmt.Errorf("given up while an earlier replacement of document %d may still arrive: %w", doc, err)
		}
	}
	return nil
}

// lateReplacement is how long a replacement of the document that was not answered, or was cut
// off, may still arrive.
func (s *Spool) lateReplacement(doc archive.ID) (left time.Duration) {
	if doc == 0 {
		return 0
	}
	for _, u := range s.List() {
		left = max(left, u.lateReplacement(doc))
	}
	return left
}

func (u *Upload) lateReplacement(doc archive.ID) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.rec.Load()
	if u.doubt.IsZero() || r.State == Confirmed || r.Replace != doc && r.SentReplace != doc {
		return 0
	}
	return u.doubt.Add(u.spool.opts.LateBy).Sub(u.spool.opts.Now())
}

// aim takes the baseline of the folder and chooses the external id. One that may be on its
// way already is kept: a document with it is ours whenever it comes.
func (d *delivery) aim(ctx context.Context, r, next *Record) error {
	if r.Replace != 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	var docs []*archive.Document
	var err error
	if d.baseline != nil && !r.inDoubt() {
		docs, err = d.baseline(ctx)
	}
	if docs == nil && err == nil {
		docs, err = d.listFolder(ctx, r.Folder)
	}
	if err != nil {
		return fmt.Errorf("list the folder before sending: %w", err)
	}
	d.listed = docs
	name := r.documentName()
	next.Split = r.EmailImportOrder != "" || strings.EqualFold(path.Ext(name), ".eml")
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
		id, err := uuid.NewRandom()
		if err != nil {
			return fmt.Errorf("make up an external id: %w", err)
		}
		next.SentID = idPrefix + id.String()
	}
	return nil
}

// listFolder asks the service what a folder holds.
func (d *delivery) listFolder(ctx context.Context, id archive.ID) ([]*archive.Document, error) {
	docs, err := d.a.Documents(ctx, id, archive.ListOptions{})
	all := make([]*archive.Document, len(docs))
	for i := range docs {
		all[i] = &docs[i]
	}
	return all, err
}

// send sends the bytes as the record says.
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

// ReadAt implements io.ReaderAt.
func (b blob) ReadAt(p []byte, off int64) (int, error) {
	n, err := b.upload.ReadAt(p, off)
	b.upload.sent.Store(off + int64(n))
	return n, err
}

// Size implements archive.Blob.
func (b blob) Size() int64 { return b.size }
