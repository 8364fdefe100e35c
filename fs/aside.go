package fs

import (
	"context"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
)

// setAside answers the rename of an inbox document to a temporary name in its folder, by
// which an editor that saves makes a backup before it creates the name anew (vim, Emacs).
// The temporary name becomes a local copy. The document stays what it is at the service
// and is not shown until a file is created under its name, which replaces its content, or
// until the next listing shows it again. Refused, vim copies the document and removes it.
func (d *dir) setAside(ctx context.Context, e *entry, newName string, over *entry) error {
	if d.fs.service.Archive.LacksReplace() {
		return errno.ErrNoReplace
	}
	f := d.fileOf(e)
	f.commit.Lock()
	defer f.commit.Unlock()
	replaced, err := d.mayReplace(newName, over)
	switch {
	case err != nil:
		return errno.Refuse(syscall.EPERM, err.Error())
	case replaced != nil:
		return errno.Refuse(syscall.EPERM, "a document has the temporary name")
	case f.pending() != nil:
		return errno.Refuse(syscall.EPERM, "the document is being written")
	}
	up, err := d.fs.spool.Create(d.fs.record(d, newName, nil))
	if err != nil {
		return err
	}
	if err := f.copyContent(ctx, up); err != nil {
		d.fs.discard(up)
		return err
	}
	if err := up.Keep(); err != nil {
		d.fs.discard(up)
		return err
	}
	if over != nil {
		over.file.Load().remove()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	for range f.handles {
		if err := up.Open(); err != nil {
			d.fs.discard(up)
			return err
		}
	}
	shown := f.entry
	d.dropLocked(shown)
	d.hideLocked(shown, f.doc)
	f.doc, f.up = nil, up
	d.fs.hold(up, f)
	f.entry = newEntry(newName, nil, f)
	d.addLocked(f.entry)
	return nil
}

// hideLocked keeps a document in mind that is set aside. The caller holds mu.
func (d *dir) hideLocked(shown *entry, doc *archive.Document) {
	hidden := newEntry(shown.name, doc, nil)
	hidden.told, hidden.keep = shown.told, shown.keep
	// Its inode is another one: who has the old one open goes on with the copy.
	hidden.file.Store(newFile(d.fs, d.fs.inodes.Local(), d, hidden, doc, nil))
	if d.aside == nil {
		d.aside = map[string]*entry{}
	}
	d.aside[hidden.name] = hidden
	d.here().docs.put(doc.ID, hidden)
	d.indexLocked(hidden)
}

// unhideLocked shows a document again that was set aside, under its name or, where that is
// taken, under one told apart by its id. The caller holds mu.
func (d *dir) unhideLocked(hidden *entry) *entry {
	d.dropLocked(hidden)
	if d.takenLocked(hidden.name) {
		hidden = hidden.renamed(names.OfDocument(hidden.doc.Load(), "", d.takenLocked))
	}
	d.addLocked(hidden)
	return hidden
}

// setAsideAs returns the document of the name that is set aside, nil without one.
func (d *dir) setAsideAs(name string) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hiddenLocked(name)
}

// hiddenLocked is setAsideAs for callers that hold mu.
func (d *dir) hiddenLocked(name string) *entry {
	if hidden := d.aside[name]; hidden != nil {
		return hidden
	}
	if e := d.plainLocked(name); e != nil && d.aside[e.name] == e {
		return e
	}
	return nil
}

// showAgain shows the document of the name that was set aside, nil without one.
func (d *dir) showAgain(name string) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	hidden := d.hiddenLocked(name)
	if hidden == nil || d.takenLocked(name) {
		return nil
	}
	return d.unhideLocked(hidden)
}
