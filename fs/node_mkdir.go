package fs

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
)

// Mkdir creates a folder at the service, or a local directory under a junk name.
func (n *dirNode) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	d := n.d
	var e *entry
	errno := d.fs.kernel.changeNames(ctx, d, func(ctx context.Context) syscall.Errno {
		var err error
		e, err = d.fs.folders.mkdir(ctx, d, name)
		return d.fs.errnos.Of("mkdir", d.pathOf(name), err)
	}, placed{d, name})
	if errno != 0 {
		return nil, errno
	}
	d.fs.kernel.fillEntry(d, e, out)
	return n.nodeOf(ctx, e), 0
}

func (c *folderChanges) mkdir(ctx context.Context, d *dir, name string) (*entry, error) {
	if err := d.fs.files.mayHold(d, name); err != nil {
		return nil, err
	}
	if d.kind == localDir || names.IsJunkDir(name) {
		e := &entry{name: name, dir: newDir(c.fs, localDir, 0, c.fs.inodes.Local(), d, name)}
		d.add(e)
		return e, nil
	}
	if err := mayBeFolder(name); err != nil {
		return nil, err
	}
	if err := d.fs.lister.loadFolders(ctx, d, needNames); err != nil {
		return nil, err
	}
	d.mu.Lock()
	free := d.free
	d.mu.Unlock()
	if !free {
		return nil, errno.ErrNotFree
	}
	if c.queuesFolders(d) {
		return c.queueFolder(d, name, false)
	}
	id, err := c.createFolder(ctx, d, name)
	switch {
	case err != nil && c.fs.opts.Async && archive.Away(err):
		_ = c.fs.service.Answered(err) // so that the next one is not asked for, and in doubt, too
		return c.queueFolder(d, name, archive.Doubtful(err))
	case err != nil:
		return nil, err
	}
	d.outdate()
	if d.kind.archives() {
		c.fs.service.Children.Put(id, archive.Structure{Free: free})
		c.fs.service.Documents.Put(id, nil)
	}
	return c.addFolder(d, id, name), nil
}

// mayBeFolder refuses to make a folder at the service, or to call one so, that is a program's
// workshop.
func mayBeFolder(name string) error {
	if !names.IsWorkshop(name) {
		return nil
	}
	return errno.Refuse(syscall.EPERM, "a program keeps for itself what is in a directory called "+name+", and all of it would be archived for good: work in a directory of this machine")
}

// errQueueLooks says that the queue finds out whether a folder was made.
var errQueueLooks = errors.New("the folder is queued")

// createFolder creates a folder and finds out its id, by a listing where the answer does
// not tell it. A service that has no time is neither looked at nor waited for where folders
// are queued.
func (c *folderChanges) createFolder(ctx context.Context, d *dir, name string) (archive.ID, error) {
	before := c.folderIDs(d)
	var id archive.ID
	var busy bool
	look := func(ctx context.Context) (bool, error) {
		if busy && c.fs.opts.Async {
			return false, errQueueLooks
		}
		var err error
		id, err = c.newFolder(ctx, d, name, before)
		return id != 0, err
	}
	err := c.fs.service.Change(ctx, func(ctx context.Context) error {
		made, err := c.fs.service.Archive.CreateFolder(ctx, d.id(), name)
		id, busy = made.ID, archive.KindOf(err) == archive.KindBusy
		return err
	}, look)
	if err != nil || id != 0 {
		return id, err
	}
	if found, err := look(ctx); err != nil || found {
		return id, err
	}
	return 0, fmt.Errorf("folder %s was created but is not listed: %w", archive.Printable(name), syscall.EIO)
}

// newFolder lists the directory afresh and returns the folder of that name that was not
// there before, 0 when there is none.
func (c *folderChanges) newFolder(ctx context.Context, d *dir, name string, before map[archive.ID]bool) (archive.ID, error) {
	d.distrust()
	if err := d.fs.lister.loadFolders(ctx, d, needListing); err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.shown.folders.list {
		if !before[e.id] && e.entry.told == name {
			return e.id, nil
		}
	}
	return 0, nil
}

// folderIDs is the set of sub-folders known now.
func (c *folderChanges) folderIDs(d *dir) map[archive.ID]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown.folders.ids()
}

// addFolder shows a folder that was created here.
func (c *folderChanges) addFolder(d *dir, id archive.ID, name string) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.shown.folders.get(id); e != nil {
		return e
	}
	e := &entry{name: name, keep: c.fs.keepFor()}
	e.dir = newDir(c.fs, d.kind.below(), id, c.fs.inodes.Folder(id), d, name)
	d.shown.add(e)
	return e
}
