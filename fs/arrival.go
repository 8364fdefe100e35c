package fs

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/internal/spool"
)

// arrived makes the file the document that the archive confirmed. Without an id it waits
// for a listing to show it. The caller holds commit.
func (f *file) arrived(ctx context.Context, up *spool.Upload, id archive.ID) {
	r := up.Record()
	if r.Had != "" {
		f.giveWay(up, &r)
		return
	}
	done := "archived"
	if r.Inbox {
		done = "stored in the inbox:"
	}
	f.fs.log.WithField("path", archive.Printable(f.path())).WithField("document", int64(id)).
		Infof("%s %d bytes", done, r.Size)
	if err := up.Open(); err == nil { // for those who open the file while its bytes move
		defer up.Close() //nolint:errcheck // the bytes are archived
	}
	f.fs.staging.settle(up, id)
	if id == 0 && f.fs.staging.awaits(up, &r) {
		return // what the folder shows when it is listed tells which document it is
	}
	switch d := f.lastPlace(); {
	case d == nil: // recovered and not shown yet
		f.fs.staging.listAgain(&r)
	case id != 0:
		d.outdate()
		f.become(d, f.confirmed(&r, id, d))
		f.detach()
	case f.stayUnlisted():
		return
	}
	f.fs.staging.conclude(ctx, up, id)
}

// giveWay ends a file that the archive had before, as a document which keeps its name and its
// place: the file's own name goes.
func (f *file) giveWay(up *spool.Upload, r *spool.Record) {
	f.fs.log.WithField("path", archive.Printable(f.path())).
		Infof("the archive has it already, as %s (document %d)", r.Had, r.Document)
	f.fs.service.Failures.Mend(r)
	d := f.lastPlace()
	if d == nil {
		f.fs.staging.listAgain(r)
		f.fs.staging.discard(up)
		return
	}
	d.distrust() // it may have the very name
	_, name := f.place()
	f.remove()
	f.fs.forgetNames(d, []string{name})
}

// lastPlace is where the file is shown. When that is nowhere, no folder shows it from now
// on: nil. The caller holds commit, so that the file stays there.
func (f *file) lastPlace() *dir {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dir == nil {
		f.happenedLocked(onUnlink)
	}
	return f.dir
}

// listAgain makes the document of an upload that no folder shows appear where the folder is
// known.
func (s *staging) listAgain(r *spool.Record) {
	s.fs.service.Documents.Invalidate(r.Folder)
	if d := s.folder(refOf(r)); d != nil {
		d.distrust()
		s.fs.forgetNames(d, []string{r.Name})
	}
}

// outdate is dir.outdate of a folder, whether anybody has looked at it or not.
func (s *staging) outdate(id archive.ID) {
	s.fs.service.Outdate(id)
	if d := s.folder(folderRef{id: id}); d != nil {
		d.outdate()
	}
}

// confirmed is the document as far as is known without a listing.
func (f *file) confirmed(r *spool.Record, id archive.ID, d *dir) *archive.Document {
	return d.kind.confirmed(r, id, d.document(id), f.fs.now())
}

// confirmed is the document that is archived now in such a directory. old is it with its old
// bytes, nil for a new one.
func (k dirKind) confirmed(r *spool.Record, id archive.ID, old *archive.Document, now time.Time) *archive.Document {
	doc := archive.Document{ID: id, Name: r.Name, Folder: r.Folder, Created: now}
	if old != nil {
		doc = *old
	}
	if r.DocumentName != "" {
		doc.Name = r.DocumentName
	}
	doc.Size, doc.Keywords, doc.Metadata = r.Size, r.Keywords, r.Metadata
	if k.archives() {
		doc.Archived = now
	}
	return &doc
}

// document returns the document of that id that the directory shows, nil without one.
func (d *dir) document(id archive.ID) *archive.Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.shown.document(id); e != nil {
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
	if shown := d.shown.document(doc.ID); shown != nil && shown != f.entry && f.dir == d {
		d.shown.drop(shown) // a listing was quicker: it keeps the name given here
		f.fs.forgetNames(d, []string{shown.name})
	}
	f.doc, f.sized = doc, false
	f.entry.doc.Store(doc)
	f.entry.keep, f.entry.told = f.fs.keepFor(), ""
	if f.dir == d { // else it was removed, or made way for the listed document, meanwhile
		d.shown.add(f.entry)
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
	f.up = nil
	f.happenedLocked(onArrival)
}

// settle moves confirmed bytes into the content cache, so that reading them back
// downloads nothing, and keeps their modification time. The record can go then. A document
// that the archive had before has a time of its own, and bytes that the service says.
func (s *staging) settle(up *spool.Upload, id archive.ID) {
	r := up.Record()
	s.fs.service.Failures.Mend(&r)
	if id != 0 && r.Had == "" {
		s.keepTime(&r, id)
		key := cache.Key{Document: id, Representation: archive.Original}
		if err := s.fs.content.Adopt(key, cache.Adoption{Path: up.DataPath(), Sum: r.SHA256, Final: !r.Inbox}); err != nil {
			s.fs.log.Debugf("cache document %d: %v", id, err)
		}
		if !r.Inbox {
			s.fs.facts.Learn(key, r.Size)
		}
		if r.Replace != 0 {
			s.fs.control.BytesChanged(id)
		}
	}
}

// conclude ends a confirmed upload: it sets on the document what an upload cannot take
// along, and forgets the upload. A service that is away, or does not take these credentials,
// is asked again by the next mount.
func (s *staging) conclude(ctx context.Context, up *spool.Upload, id archive.ID) {
	if r := up.Record(); r.AutoExport && id != 0 && r.Had == "" {
		err := s.fs.service.Archive.SetAutoExport(detached(ctx), id, true)
		if err != nil {
			s.fs.service.Failures.Add("set auto-export", up, r.Path+"/"+r.Name, err)
		}
		if archive.Away(err) || archive.KindOf(err) == archive.KindUnauthorized {
			s.letGo(up)
			return
		}
		s.outdate(r.Folder)
	}
	s.discard(up)
}

// keepTime keeps the modification time that a file had as that of its document.
func (s *staging) keepTime(r *spool.Record, id archive.ID) {
	mtime := r.Mtime
	if mtime.IsZero() {
		mtime = r.Changed
	}
	s.fs.opts.State.SetTime(id, mtime)
}
