package fs

import (
	"context"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
)

// setAside answers the rename of an inbox document to a temporary name in its folder, by
// which an editor that saves makes a backup before it creates the name anew (vim, Emacs).
// The temporary name becomes a local copy. The document stays what it is at the service
// and is not shown until a file is created under its name, which replaces its content, or
// until the next listing shows it again. Refused, vim copies the document and removes it.
func (c *fileChanges) setAside(ctx context.Context, d *dir, e *entry, newName string, over *entry) error {
	if c.fs.service.Archive.LacksReplace() {
		return errno.ErrNoReplace
	}
	f := d.fileOf(e)
	f.commit.Lock()
	defer f.commit.Unlock()
	replaced, err := c.mayReplace(d, newName, over)
	switch {
	case err != nil:
		return errno.Refuse(syscall.EPERM, err.Error())
	case replaced != nil:
		return errno.Refuse(syscall.EPERM, "a document has the temporary name")
	case f.pending() != nil:
		return errno.Refuse(syscall.EPERM, "the document is being written")
	}
	up, err := c.fs.staging.spool.Create(c.fs.record(d, newName, nil))
	if err != nil {
		return err
	}
	if err := f.copyContent(ctx, up); err != nil {
		c.fs.staging.discard(up)
		return err
	}
	if err := up.Keep(); err != nil {
		c.fs.staging.discard(up)
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
			c.fs.staging.discard(up)
			return err
		}
	}
	shown := f.entry
	d.shown.drop(shown)
	c.hideLocked(d, shown, f.doc)
	f.doc, f.up = nil, up
	c.fs.staging.hold(up, f)
	f.entry = newEntry(newName, nil, f)
	d.shown.add(f.entry)
	return nil
}

// hideLocked sets a document aside. The caller holds mu.
func (c *fileChanges) hideLocked(d *dir, shown *entry, doc *archive.Document) {
	hidden := newEntry(shown.name, doc, nil)
	hidden.told, hidden.keep = shown.told, shown.keep
	// Its inode is another one: who has the old one open goes on with the copy.
	hidden.file.Store(newFile(c.fs, c.fs.inodes.Local(), d, hidden, doc, nil))
	d.shown.hide(hidden)
}

// setAsideAs returns the document of the name that is set aside, nil without one.
func (c *fileChanges) setAsideAs(d *dir, name string) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown.hidden(name)
}

// showAgain shows the document of the name that was set aside, nil without one.
func (c *fileChanges) showAgain(d *dir, name string) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	hidden := d.shown.hidden(name)
	if hidden == nil || d.shown.taken(name) {
		return nil
	}
	return d.shown.unhide(hidden)
}
