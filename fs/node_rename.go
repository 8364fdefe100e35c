package fs

import (
	"context"
	"errors"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"

	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/internal/spool"
)

// Flags of renameat2(2).
const renameNoReplace = 1

// Rename archives an inbox document, renames a document in its folder, or gives a local
// file another name, which may be the moment it is archived. Everything else is refused
// with EPERM: on EXDEV mv would copy and leave two, EINVAL it reports as nonsense.
func (n *dirNode) Rename(ctx context.Context, name string, newParent fusefs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	d := n.d
	to, ok := newParent.(*dirNode)
	if !ok {
		return d.fs.errnos.Of("rename", d.pathOf(name), errno.Refuse(syscall.EPERM, "nothing can be put into "+controlName))
	}
	d.lease.extendTo(&to.d.lease)
	errno := d.fs.kernel.changeNames(ctx, d, func(ctx context.Context) syscall.Errno {
		return d.fs.errnos.Of("rename", d.pathOf(name), d.fs.files.rename2(ctx, d, name, to.d, newName, flags))
	}, placed{d, name}, placed{to.d, newName})
	switch errno {
	case syscall.EINVAL, syscall.ENOTSUP, syscall.EXDEV:
		return syscall.EPERM
	}
	return errno
}

func (c *fileChanges) rename2(ctx context.Context, d *dir, name string, to *dir, newName string, flags uint32) error {
	if err := c.mayHold(to, newName); err != nil {
		return err
	}
	if flags&^renameNoReplace != 0 {
		return errno.Refuse(syscall.EPERM, "names cannot be exchanged")
	}
	e, err := d.fs.lister.lookup(ctx, d, name)
	if err != nil {
		return err
	}
	over, err := to.fs.lister.lookup(ctx, to, newName)
	if err != nil && errno.Of(err) != syscall.ENOENT {
		return err
	}
	if over != nil && over != e && flags&renameNoReplace != 0 {
		return errno.ErrTaken
	}
	if over == nil {
		over = c.setAsideAs(to, newName) // an editor puts its backup back; nobody sees what is there
	}
	if over == e {
		return nil
	}
	target := newName
	if over != nil {
		target = over.name
	}
	err = c.renameEntry(ctx, d, e, to, target, over)
	if errors.Is(err, errSettled) {
		return c.rename2(ctx, d, name, to, newName, flags)
	}
	if err == nil {
		c.forgetShown(d, e, name)
		if over != nil {
			c.forgetShown(to, over, newName)
		}
	}
	return err
}

// renameEntry gives what an entry stands for another place or name, that of over where
// there is one.
func (c *fileChanges) renameEntry(ctx context.Context, d *dir, e *entry, to *dir, newName string, over *entry) error {
	if up := e.upload(); up != nil {
		before := up.Record()
		defer c.fs.staging.leftFolder(up, &before) //nolint:contextcheck // what begins here outlives the request
	}
	switch {
	case e.dir != nil:
		return c.fs.folders.renameDir(d, e, to, newName, over)
	case e.doc.Load() != nil:
		return c.renameDocument(ctx, d, e, to, newName, over)
	}
	return c.renameLocal(ctx, e.file.Load(), to, newName, over)
}

// renameDir renames a directory that only this machine has; folders stay where they are.
func (c *folderChanges) renameDir(d *dir, e *entry, to *dir, newName string, over *entry) error {
	switch {
	case e.dir.queuedAs() != nil && e.dir.kind != localDir && over == nil:
		return c.renameQueued(d, e, to, newName)
	case e.dir.kind != localDir:
		return errno.ErrNotMoved
	case to.kind != localDir && !names.IsJunkDir(newName) || to.id() != d.id():
		return errno.Refuse(syscall.EPERM, "a directory of this machine's own stays one, where it is")
	case over != nil:
		return errno.ErrTaken
	}
	d.drop(e)
	e.dir.moveTo(to, newName)
	to.add(e.renamed(newName))
	c.retarget(e.dir)
	return nil
}

// moveTo gives a local directory another place.
func (d *dir) moveTo(parent *dir, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.parent, d.name = parent, name
}

// retarget writes the directory's new place into the records of the files below it.
func (c *folderChanges) retarget(d *dir) {
	for _, e := range d.entries() {
		if e.dir != nil {
			c.retargetFolder(e.dir)
			c.retarget(e.dir)
		} else if up := e.file.Load().pending(); up != nil {
			if err := up.Update(func(r *spool.Record) { r.Local, r.Path = d.local(), d.path() }); err != nil {
				c.fs.service.Failures.Add("rename", up, e.file.Load().path(), err)
			}
		}
	}
}

// renameDocument archives an inbox document or renames a document where it lies.
func (c *fileChanges) renameDocument(ctx context.Context, d *dir, e *entry, to *dir, newName string, over *entry) error {
	switch {
	case to == d && d.kind == inboxDir && names.IsJunk(newName) && !names.IsJunkDir(newName):
		return c.setAside(ctx, d, e, newName, over)
	case to.staysLocal(newName):
		return errno.Refuse(syscall.EPERM, "temporary names and directories stay on this machine: to put a document there is no archiving")
	case to.queuedAs() != nil:
		return errno.Refuse(syscall.EBUSY, "the folder waits to be made, and the service does not know it yet")
	case over != nil && over.doc.Load() != nil && to.kind.archives():
		return errno.ErrOverArchived
	case over != nil:
		return errno.ErrTaken
	case e.busy():
		return errno.Refuse(syscall.EBUSY, "it has new content on this machine, or is emptied: write it in full first")
	case to == d:
		return c.renameHere(ctx, d, e, newName)
	case d.kind == inboxDir && to.kind.archives():
		return c.archiveDocument(ctx, d, e, to, newName)
	case d.kind == inboxDir:
		return errno.Refuse(syscall.EPERM, "an inbox document can only be archived: the service has no operation that moves it elsewhere")
	}
	return errno.Refuse(syscall.EPERM, "the service has no operation that moves an archived document")
}

// renameHere gives a document another name in its folder.
func (c *fileChanges) renameHere(ctx context.Context, d *dir, e *entry, newName string) error {
	shown := e.doc.Load()
	send := names.ToSend(shown, e.name, newName)
	if send != "" {
		id := shown.ID
		err := c.fs.service.Change(ctx, func(ctx context.Context) error {
			return c.fs.service.Archive.Rename(ctx, id, send)
		}, func(ctx context.Context) (bool, error) {
			docs, err := d.fs.lister.listAfresh(ctx, d)
			doc := findDocument(docs, id)
			return doc != nil && doc.Name == send, err
		})
		if err != nil {
			return err
		}
		d.outdate()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.shown.document(shown.ID); now != nil {
		e = now // a listing renamed it already
	}
	d.shown.drop(e)
	e = e.renamed(newName)
	if send != "" {
		doc := *e.doc.Load()
		doc.Name = send
		e.setDocument(&doc)
		e.told, e.keep = "", c.fs.keepFor()
	}
	d.shown.add(e)
	return nil
}
