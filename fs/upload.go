package fs

import (
	"context"
	"errors"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/internal/spool"
)

// record describes a file that is created in a directory; doc is the inbox document that
// it gets new bytes for, or nil.
func (f *FileSystem) record(d *dir, name string, doc *archive.Document) spool.Record {
	r := spool.Record{Folder: d.id, Inbox: d.inInbox(), Path: d.path(), Local: d.local(), Name: name}
	if doc != nil {
		r.Replace = doc.ID
		r.DocumentName = doc.Name
	}
	return r
}

// inInbox reports whether the directory is an inbox or below one.
func (d *dir) inInbox() bool {
	if d.kind == localDir {
		return d.above().inInbox()
	}
	return d.kind == inboxDir
}

// discard throws bytes of the spool away that nobody will ask for.
func (f *FileSystem) discard(up *spool.Upload) {
	if err := up.Remove(); err != nil {
		f.log.Warnf("remove %s from the spool: %v", up.Record().ID, err)
	}
}

// finish turns the bytes in the spool into a document, or keeps them as a local file. Its
// error is what close answers: the file has then left its folder and is kept as failed.
func (f *file) finish(ctx context.Context) error {
	f.fs.work.begin()
	defer f.fs.work.end()
	f.commit.Lock()
	defer f.commit.Unlock()
	f.mu.Lock()
	up, dirty, bad, d := f.up, f.dirty, f.bad, f.dir
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
	if d.staysLocal(name) || up.Size() == 0 {
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

// arrived makes the file the document that the archive confirmed. Without an id the next
// listing shows it, under its own.
func (f *file) arrived(up *spool.Upload, d *dir, id archive.ID) {
	r := up.Record()
	f.fs.log.WithField("path", archive.Printable(f.path())).WithField("document", int64(id)).
		Infof("archived %d bytes", r.Size)
	f.fs.settle(up, id)
	if id == 0 {
		d.distrust()
		f.vanish() // who has it open reads on
	} else {
		d.outdate()
		f.become(d, f.confirmed(&r, id, d))
		f.detach()
	}
	f.fs.discard(up)
}

// confirmed is the document as far as is known without a listing.
func (f *file) confirmed(r *spool.Record, id archive.ID, d *dir) *archive.Document {
	doc := archive.Document{ID: id, Name: r.Name, Folder: r.Folder, Created: f.fs.now()}
	if old := d.document(id); old != nil {
		doc = *old // it got new bytes
	}
	if r.DocumentName != "" {
		doc.Name = r.DocumentName
	}
	doc.Size, doc.Keywords, doc.Metadata = r.Size, r.Keywords, r.Metadata
	if d.kind.archives() {
		doc.Archived = f.fs.now()
	}
	return &doc
}

// document returns the document of that id that the directory shows, nil without one.
func (d *dir) document(id archive.ID) *archive.Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.docs[id]; e != nil {
		return e.doc.Load()
	}
	return nil
}

// become makes doc what the file stands for.
func (f *file) become(d *dir, doc *archive.Document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if shown := d.docs[doc.ID]; shown != nil && shown != f.entry {
		d.dropLocked(shown) // a listing was quicker: it keeps the name given here
		f.fs.forgetNames(d, []string{shown.name})
	}
	f.doc, f.sized = doc, false
	f.entry.doc.Store(doc)
	f.entry.keep, f.entry.told = f.fs.keepFor(), ""
	if f.dir == d { // else it was removed meanwhile
		d.addLocked(f.entry)
	}
}

// detach parts the file from its bytes in the spool, also those of open handles.
func (f *file) detach() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.up == nil {
		return
	}
	for range f.handles {
		if err := f.up.Close(); err != nil {
			f.fs.log.Debugf("close spool file: %v", err)
		}
	}
	f.up, f.dirty, f.bad, f.accepted = nil, false, nil, false
}

// settle moves confirmed bytes into the content cache, so that reading them back
// downloads nothing, and keeps their modification time. The record can go then.
func (f *FileSystem) settle(up *spool.Upload, id archive.ID) {
	r := up.Record()
	if id != 0 {
		mtime := r.Mtime
		if mtime.IsZero() {
			mtime = r.Changed
		}
		if err := f.opts.State.SetTime(id, mtime); err != nil {
			f.log.Warnf("keep the time of document %d: %v", id, err)
		}
		key := cache.Key{Document: id, Representation: archive.Original}
		if err := f.content.Adopt(key, up.DataPath(), "", r.SHA256); err != nil {
			f.log.Debugf("cache document %d: %v", id, err)
		}
		if !r.Inbox {
			f.facts.Learn(key, r.Size)
		}
		if r.Replace != 0 { // what was rendered from the old bytes
			f.content.Remove(cache.Key{Document: id, Representation: archive.PDF})
			f.content.Remove(cache.Key{Document: id, Representation: archive.Data})
		}
	}
}

// resolve finds out about an upload that an earlier mount had begun: it is confirmed when
// the archive has it, else failed, because the close that began it cannot be told any
// more.
func (f *FileSystem) resolve(up *spool.Upload) {
	ctx := context.Background()
	id, err := f.spool.Resolve(ctx, up, f.archive)
	if err != nil {
		f.failed("archive", up.Record().Path+"/"+up.Record().Name, err)
		return
	}
	f.settle(up, id)
	f.documents.Invalidate(up.Record().Folder)
	f.discard(up)
}

// abandon fails a file whose bytes are not what they were meant to be. It leaves its
// folder and stays in the list of uploads.
func (f *file) abandon(reason string) {
	f.commit.Lock()
	defer f.commit.Unlock()
	f.abandonLocked(reason)
}

// abandonLocked is abandon for callers that hold commit.
func (f *file) abandonLocked(reason string) {
	up := f.pending()
	if up == nil {
		return
	}
	f.fs.failed("keep as failed", f.path(), errors.New(reason))
	f.clean()
	if err := up.Fail(reason, false); err != nil {
		f.fs.failed("keep as failed", f.path(), err)
	}
	f.giveUp(up)
}
