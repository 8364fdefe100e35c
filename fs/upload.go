package fs

import (
	"context"
	"errors"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/whole"
)

// delivery turns the bytes of files into documents, or keeps them as failed.
type delivery struct{ fs *FileSystem }

// finish turns the bytes in the spool into a document, now or, with later, in the
// background, or keeps them as a local file. Its error is what close answers: the file has
// then left its folder and is kept as failed.
func (v *delivery) finish(ctx context.Context, f *file, later bool) error {
	v.fs.work.Begin()
	defer v.fs.work.End()
	f.commit.Lock()
	defer f.commit.Unlock()
	f.mu.Lock()
	up, todo, bad, d, doc, writing := f.up, f.phase.unfinished(), f.spoiltLocked(), f.dir, f.doc, f.writing
	f.mu.Unlock()
	switch {
	case up == nil || !todo:
		return nil // another close came first
	case d == nil: // removed, or failed before
		return nil
	case bad != nil:
		v.abandonLocked(f, bad.Error())
		return bad
	case up.State() == spool.Failed: // with another close
		f.happened(onRefusal)
		return errFailed
	case up.State() != spool.Created: // another close came first, and took these bytes along
		f.happened(onSeal)
		return nil
	case writing > 0: // by now: their close ends the file
		return f.accept(up)
	}
	_, name := f.place()
	if doc == nil && (d.staysLocal(name) || up.Record().Temporary) || up.Size() == 0 {
		f.happened(onKeep)
		return up.Keep()
	}
	id, sent, err := v.send(ctx, f, up, d, later)
	switch {
	case err != nil:
		v.giveUp(f, up)
	case sent:
		v.arrived(ctx, f, up, id)
	}
	return err
}

// send archives the bytes as their record says, in the directory d, and returns the
// document's id, 0 when the service does not tell it. With later it only queues them, as it
// does where the folder itself is queued. On an error the upload is failed and keeps the
// reason. The caller holds commit.
func (v *delivery) send(ctx context.Context, f *file, up *spool.Upload, d *dir, later bool) (id archive.ID, sent bool, err error) {
	f.happened(onSeal)
	later = later || v.fs.opts.Async || d.queuedAs() != nil
	refused := d.refused()
	err = v.seal(f, up, d, later && refused == nil)
	if err == nil {
		err = refused // which leaves it a whole file
	}
	if err != nil {
		v.fs.service.Failures.Add("archive", up, f.path(), err)
		return 0, false, errors.Join(err, up.Fail(err.Error(), false))
	}
	if later {
		v.fs.staging.queue.Add(up)
		return 0, false, nil
	}
	v.fs.staging.sending.Add(1)
	defer v.fs.staging.sending.Add(-1)
	if id, err = v.fs.staging.spool.Deliver(ctx, up, v.fs.service.Archive, v.fs.lister.baseline(d)); v.fs.service.Answered(err) != nil {
		v.fs.service.Failures.Add("archive", up, f.path(), err)
		return 0, false, err
	}
	return id, true, nil
}

// seal makes the bytes complete, with the directory's defaults, durably. With queued they
// are accepted for the background.
func (v *delivery) seal(f *file, up *spool.Upload, d *dir, queued bool) error {
	if err := whole.Check(up); err != nil {
		return err
	}
	meant := func(r *spool.Record) {
		d.aim(r)
		d.applyDefaults(r)
	}
	err := up.CommitAs(func(r *spool.Record) { meant(r); r.Queued = queued })
	if err != nil {
		_ = up.Update(meant) // for a retry; err says more
		return err
	}
	if queued {
		f.happened(onQueue)
	}
	return nil
}

// baseline lists what the directory holds before something is sent there. What is known
// within the ttl will do, with what was put in here since. A mount that shows only a part of
// the directory does not know.
func (l *lister) baseline(d *dir) spool.Baseline {
	return func(ctx context.Context) ([]*archive.Document, error) {
		if !l.fs.opts.List.CreatedAfter.IsZero() {
			return nil, nil
		}
		if err := l.loadDocuments(ctx, d, needNames); err != nil {
			return nil, err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		docs := make([]*archive.Document, 0, len(d.shown.documents()))
		for _, e := range d.shown.documents() {
			docs = append(docs, e.entry.doc.Load())
		}
		return docs, nil
	}
}
