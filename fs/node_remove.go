package fs

import (
	"context"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
)

// errNoRemoval refuses to delete what is archived.
var errNoRemoval = errno.Refuse(syscall.EPERM, "archived documents are not deleted")

// Unlink removes what was never archived, and an inbox document where that is allowed.
func (n *dirNode) Unlink(ctx context.Context, name string) syscall.Errno {
	d := n.d
	return d.fs.kernel.changeNames(ctx, d, func(ctx context.Context) syscall.Errno {
		return d.fs.errnos.Of("remove", d.pathOf(name), d.fs.files.unlink(ctx, d, name))
	}, placed{d, name})
}

func (c *fileChanges) unlink(ctx context.Context, d *dir, name string) error {
	if err := c.fs.mayChange(); err != nil {
		return err
	}
	e, err := d.fs.lister.lookup(ctx, d, name)
	if err != nil {
		return err
	}
	doc := e.doc.Load()
	switch {
	case e.dir != nil:
		return syscall.EISDIR
	case doc == nil:
		return c.removeLocal(e.file.Load())
	case d.kind != inboxDir:
		return errNoRemoval
	case !c.fs.opts.AllowDelete:
		return errno.Refuse(syscall.EPERM, "documents of an inbox are deleted only where the archive is mounted with --allow-delete")
	}
	f := d.fileOf(e)
	f.commit.Lock() // new bytes of it may be on their way
	defer f.commit.Unlock()
	if err := c.deleteDocument(ctx, d, doc.ID); err != nil {
		return err
	}
	d.outdate()
	f.remove()
	c.forgetShown(d, e, name)
	return nil
}

// deleteDocument deletes an inbox document.
func (c *fileChanges) deleteDocument(ctx context.Context, d *dir, id archive.ID) error {
	err := c.fs.service.Change(ctx, func(ctx context.Context) error {
		return c.fs.service.Archive.Delete(ctx, id)
	}, func(ctx context.Context) (bool, error) {
		docs, err := d.fs.lister.listAfresh(ctx, d)
		return findDocument(docs, id) == nil, err
	})
	if archive.KindOf(err) == archive.KindUnsupported {
		return errno.Refuse(syscall.EPERM, err.Error())
	}
	return err
}

// removeLocal removes a file that the archive does not have. One that is being sent is
// waited for: then the archive has it.
func (c *fileChanges) removeLocal(f *file) error {
	f.commit.Lock()
	defer f.commit.Unlock()
	if f.document() != nil || f.archivedUnlisted() {
		return errNoRemoval
	}
	if d, _ := f.place(); d == nil {
		return syscall.ENOENT // it was archived meanwhile, or failed
	}
	up := f.pending()
	if up.Record().Queued { // who has it open goes on writing
		if err := f.recallLocked(up); err != nil {
			return err
		}
	}
	if err := up.Remove(); err != nil {
		return err
	}
	f.remove()
	return nil
}

// remove takes a file out of its directory, and its bytes out of the spool, so that a crash
// does not bring them back. Who has it open goes on with them until the last close. The
// file goes on standing for them, for who holds its inode.
func (f *file) remove() {
	d, _ := f.place()
	if d == nil {
		return
	}
	d.mu.Lock()
	f.mu.Lock()
	d.shown.drop(f.entry)
	f.dir = nil
	f.happenedLocked(onUnlink)
	up := f.up
	f.mu.Unlock()
	d.mu.Unlock()
	if up != nil {
		f.fs.staging.discard(up)
	}
}

// Rmdir removes a directory that only this machine has.
func (n *dirNode) Rmdir(ctx context.Context, name string) syscall.Errno {
	d := n.d
	return d.fs.kernel.changeNames(ctx, d, func(ctx context.Context) syscall.Errno {
		return d.fs.errnos.Of("rmdir", d.pathOf(name), d.fs.folders.rmdir(ctx, d, name))
	}, placed{d, name})
}

func (c *folderChanges) rmdir(ctx context.Context, d *dir, name string) error {
	if err := c.fs.mayChange(); err != nil {
		return err
	}
	e, err := d.fs.lister.lookup(ctx, d, name)
	switch {
	case err != nil:
		return err
	case e.dir == nil:
		return syscall.ENOTDIR
	case !e.dir.isLocal():
		return errno.ErrNotRemoved
	case len(e.dir.entries()) > 0:
		return syscall.ENOTEMPTY
	case e.dir.kind != localDir:
		return c.removeQueued(d, e)
	}
	d.drop(e)
	return nil
}
