package fs

import (
	"context"
	"errors"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/names"
)

// errUnclear says that the inbox still lists a document and its folder lists one of that
// name which was not known there: another client's, or a copy.
var errUnclear = errors.New("it cannot be told whether it was archived")

// archiveDocument moves an inbox document into a folder of the archive, with the keywords
// that were set on it. Whether the service gives it a new id or not, the file stays the
// same to those who have it open.
func (c *fileChanges) archiveDocument(ctx context.Context, d *dir, e *entry, to *dir, newName string) error {
	if err := to.fs.lister.loadDocuments(ctx, to, needNames); err != nil {
		return err
	}
	inbox := *e.doc.Load()
	keywords, _ := c.fs.opts.State.Keywords(inbox.ID)
	target := archive.ArchiveTarget{Folder: to.id(), Name: names.ToSend(&inbox, e.name, newName), Keywords: keywords}
	before := c.documentIDs(to)
	var archived *archive.Document
	look := func(ctx context.Context) (bool, error) {
		docs, err := to.fs.lister.listAfresh(ctx, to)
		archived = newDocument(docs, before, &inbox, target.Name)
		return archived != nil, err
	}
	took := func(ctx context.Context) (bool, error) {
		docs, err := d.fs.lister.listAfresh(ctx, d)
		switch {
		case err != nil:
			return false, err
		case findDocument(docs, inbox.ID) == nil:
			return c.fs.service.LookLate(ctx, func(ctx context.Context) (bool, error) {
				found, err := look(ctx)
				return found && archived.Name == nameOr(target.Name, &inbox), err
			})
		}
		if found, err := look(ctx); err != nil || found {
			return false, errors.Join(errUnclear, err)
		}
		return false, nil
	}
	err := c.fs.service.Change(ctx, func(ctx context.Context) error {
		return c.fs.service.Archive.Archive(ctx, inbox.ID, target)
	}, took)
	if err != nil {
		if archive.KindOf(err) == archive.KindNotFound {
			d.distrust()
			to.distrust()
		}
		return err
	}
	if archived == nil {
		if _, err := look(ctx); err != nil {
			c.fs.log.Warnf("list after archiving: %v", err) // it is archived all the same
		}
	}
	if keywords != nil {
		if err := c.fs.opts.State.SetKeywords(inbox.ID, nil); err != nil {
			c.fs.log.Warnf("forget keywords of document %d: %v", inbox.ID, err)
		}
	}
	d.outdate()
	to.outdate()
	c.moveDocument(d, e, to, newName, archived)
	log := c.fs.log.WithField("path", archive.Printable(to.pathOf(newName)))
	if archived != nil {
		log = log.WithField("document", archived.ID)
	}
	log.Infof("archived; it was document %d of an inbox", inbox.ID)
	if archived == nil {
		to.distrust()
		c.fs.kernel.forgetNames(to, []string{newName}) // the kernel has the inbox document there
	}
	return nil
}

// documentIDs is the set of documents known in the directory.
func (c *fileChanges) documentIDs(d *dir) map[archive.ID]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown.here().docs.ids()
}

// newDocument finds what an inbox document became in the listing of its target: the same
// id, or a new one with the name it was to get.
func newDocument(docs []archive.Document, before map[archive.ID]bool, inbox *archive.Document, name string) *archive.Document {
	name = nameOr(name, inbox)
	var found *archive.Document
	for i := range docs {
		doc := &docs[i]
		switch {
		case before[doc.ID]:
		case doc.ID == inbox.ID:
			return doc
		case doc.Name == name:
			found = doc
		}
	}
	return found
}

// nameOr is the name that a document gets, its own where none is sent.
func nameOr(name string, doc *archive.Document) string {
	if name == "" {
		return doc.Name
	}
	return name
}

// moveDocument shows e, now the document doc, in another directory. Without doc the
// service does not list it yet: the next listing will show it.
func (c *fileChanges) moveDocument(d *dir, e *entry, to *dir, name string, doc *archive.Document) {
	f := d.fileOf(e)
	d.mu.Lock()
	if now := d.shown.document(e.doc.Load().ID); now != nil {
		e = now // a listing renamed it meanwhile
	}
	d.shown.drop(e)
	d.mu.Unlock()
	to.mu.Lock()
	defer to.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if doc == nil {
		f.dir = nil
		return
	}
	if shown := to.shown.document(doc.ID); shown != nil {
		to.shown.drop(shown) // a listing was quicker
	}
	shown := newEntry(name, doc, f)
	shown.told, shown.keep = doc.Name, c.fs.keepFor()
	f.dir, f.doc, f.entry = to, doc, shown
	to.shown.add(shown)
}
