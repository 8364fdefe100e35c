package fs

import (
	"context"
	"errors"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// finish turns the bytes in the spool into a document, or keeps them as a local file. Its
// error is what close answers: the file has then left its folder and is kept as failed.
func (f *file) finish(ctx context.Context) error {
	f.fs.work.begin()
	defer f.fs.work.end()
	f.commit.Lock()
	defer f.commit.Unlock()
	f.mu.Lock()
	up, dirty, bad, d, doc := f.up, f.dirty, f.bad, f.dir, f.doc
	f.mu.Unlock()
	switch {
	case up == nil || !dirty && bad == nil:
		return nil // another close came first
	case d == nil: // removed, or failed before
		return nil
	case bad != nil:
		f.abandonLocked(bad.Error())
		return bad
	}
	_, name := f.place()
	if doc == nil && d.staysLocal(name) || up.Size() == 0 {
		f.clean()
		return up.Keep()
	}
	id, err := f.send(ctx, up, d)
	if err != nil {
		f.giveUp(up)
		return err
	}
	f.arrived(up, d, id)
	return nil
}

// clean notes that what was written is taken care of.
func (f *file) clean() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirty = false
}

// send archives the bytes as their record says, in the directory d, and returns the
// document's id, 0 when the service does not tell it. On an error the upload is failed and
// keeps the reason. The caller holds commit.
func (f *file) send(ctx context.Context, up *spool.Upload, d *dir) (archive.ID, error) {
	f.clean()
	if err := checkWhole(up); err != nil {
		return 0, f.refuse(up, err)
	}
	if err := up.Update(d.applyDefaults); err != nil {
		return 0, f.refuse(up, err)
	}
	if err := up.Commit(); err != nil {
		return 0, f.refuse(up, err)
	}
	f.fs.sending.Add(1)
	defer f.fs.sending.Add(-1)
	id, err := f.fs.spool.Deliver(ctx, up, f.fs.archive, d.baseline)
	if err != nil {
		f.fs.failed("archive", f.path(), err)
		if archive.KindOf(err) == archive.KindUnsupported && up.Record().Replace != 0 {
			f.fs.noReplace.Store(true)
		}
	}
	return id, err
}

// baseline lists what the directory holds before something is sent there. What is known
// within the ttl will do, with what was put in here since, unless the mount shows only a
// part of the directory.
func (d *dir) baseline(ctx context.Context) ([]archive.Document, error) {
	if !d.fs.opts.List.CreatedAfter.IsZero() {
		return d.listAfresh(ctx)
	}
	if err := d.loadDocuments(ctx, needNames); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	docs := make([]archive.Document, 0, len(d.docs))
	for _, e := range d.docs {
		docs = append(docs, *e.doc.Load())
	}
	return docs, nil
}

// refuse fails an upload that was not sent.
func (f *file) refuse(up *spool.Upload, err error) error {
	f.fs.failed("archive", f.path(), err)
	if ferr := up.Fail(err.Error(), false); ferr != nil {
		return errors.Join(err, ferr)
	}
	return err
}
