package fs

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// folderChanges makes, removes and renames folders and local directories.
type folderChanges struct{ fs *FileSystem }

// folderMaker makes a queued folder at the service (spool.FolderMaker).
type folderMaker struct {
	fs     *FileSystem
	parent archive.ID
	inbox  bool
	name   string
}

// recentlyAway is how long a service that was found away is not asked for a folder.
const recentlyAway = 5 * time.Second

// queuesFolders reports whether a new folder is queued without asking the service.
func (c *folderChanges) queuesFolders(d *tree.Dir) bool {
	if d.QueuedAs() != nil {
		return true
	}
	away := c.fs.Service.Away()
	return c.fs.opts.Async && away != nil && c.fs.now().Sub(away.Time) < recentlyAway
}

// queueFolder makes a folder that the service is to have later. doubtful says that it was
// asked for it and may have made it.
func (c *folderChanges) queueFolder(d *tree.Dir, name string, doubtful bool) (*tree.Entry, error) {
	up, err := c.fs.staging.spool.CreateFolder(c.fs.record(d, name, nil), doubtful)
	if err != nil {
		return nil, err
	}
	d.Mu.Lock()
	e := c.fs.placing.showQueuedLocked(d, up)
	d.Mu.Unlock()
	c.fs.staging.queue.Add(up)
	return e, nil
}

// Find implements spool.FolderMaker.
func (m *folderMaker) Find(ctx context.Context) (archive.ID, error) {
	list, err := m.siblings(ctx)
	if err != nil {
		return 0, err
	}
	for _, f := range list {
		if f.Name == m.name {
			return f.ID, nil
		}
	}
	return 0, nil
}

func (m *folderMaker) siblings(ctx context.Context) ([]archive.Folder, error) {
	if !m.inbox {
		s, err := m.fs.Service.Archive.Children(ctx, m.parent)
		return s.Folders, err
	}
	boxes, err := m.fs.Service.Archive.Inboxes(ctx)
	if err != nil {
		return nil, err
	}
	parent, ok := tree.FindInbox(boxes.Inboxes, m.parent)
	if !ok {
		return nil, &archive.Error{Op: "inboxes", Kind: archive.KindNotFound}
	}
	return parent.Children, nil
}

// Make implements spool.FolderMaker.
func (m *folderMaker) Make(ctx context.Context) (archive.ID, error) {
	f, err := m.fs.Service.Archive.CreateFolder(ctx, m.parent, m.name)
	return f.ID, err
}

// removeQueued removes a queued folder, which must be empty, before the service has it.
// While it is being made that is waited for.
func (c *folderChanges) removeQueued(d *tree.Dir, e *tree.Entry) error {
	up := e.Dir.QueuedAs()
	if up == nil {
		return errno.ErrNotRemoved
	}
	defer c.fs.staging.lockFolder(up)()
	return c.removeQueuedLocked(d, e, up)
}

// removeQueuedLocked is removeQueued for callers that hold the folder locked.
func (c *folderChanges) removeQueuedLocked(d *tree.Dir, e *tree.Entry, up *spool.Upload) error {
	switch {
	case e.Dir.QueuedAs() == nil:
		return errno.ErrNotRemoved // it was made meanwhile
	case up.State() == spool.Sending:
		return errno.ErrMayHave
	}
	if err := up.Remove(); err != nil {
		return err
	}
	d.Drop(e)
	c.fs.staging.letGo(up)
	c.fs.staging.mu.Lock()
	defer c.fs.staging.mu.Unlock()
	delete(c.fs.staging.queuedDirs, up.ID())
	return nil
}

// renameQueued gives a queued folder another place or name. While it is being made that is
// waited for.
func (c *folderChanges) renameQueued(d *tree.Dir, e *tree.Entry, to *tree.Dir, newName string) error {
	up := e.Dir.QueuedAs()
	if up == nil {
		return errno.ErrNotMoved
	}
	if err := mayBeFolder(newName); err != nil {
		return err
	}
	defer c.fs.staging.lockFolder(up)()
	to.Mu.Lock()
	free := to.Free
	to.Mu.Unlock()
	switch {
	case e.Dir.QueuedAs() == nil:
		return errno.ErrNotMoved // it was made meanwhile
	case !free:
		return errno.ErrNotFree
	case to.Kind == tree.LocalDir, names.IsJunkDir(newName), to.Kind.Below() != e.Dir.Kind:
		return errno.Refuse(syscall.EPERM, "a folder that waits to be made becomes one of the same kind, or none")
	case up.State() == spool.Sending:
		return errno.ErrMayHave
	}
	if err := up.Update(func(r *spool.Record) { retarget(r, c.fs.record(to, newName, nil)) }); err != nil {
		return err
	}
	d.Drop(e)
	e.Dir.MoveTo(to, newName)
	to.Add(e.Renamed(newName))
	c.retarget(e.Dir)
	if up.Record().Queued {
		c.fs.staging.queue.Add(up) // it may have left a folder that is not made
	}
	return nil
}

// retargetFolder writes the place of a queued folder, which a folder above left, into its
// record.
func (c *folderChanges) retargetFolder(d *tree.Dir) {
	up := d.Queued.Load()
	if up == nil {
		return
	}
	above := d.Above()
	if err := up.Update(func(r *spool.Record) { r.Path = above.Path() }); err != nil {
		c.fs.Service.Failures.Add("rename", up, d.Path(), err)
	}
}

func (c *folderChanges) mkdir(ctx context.Context, d *tree.Dir, name string) (*tree.Entry, error) {
	if err := c.fs.files.mayHold(d, name); err != nil {
		return nil, err
	}
	if d.Kind == tree.LocalDir || names.IsJunkDir(name) {
		e := &tree.Entry{Name: name, Dir: tree.NewDir(c.fs.Tree, tree.LocalDir, 0, c.fs.Inodes.Local(), d, name)}
		d.Add(e)
		return e, nil
	}
	if err := mayBeFolder(name); err != nil {
		return nil, err
	}
	if err := d.Tree.LoadFolders(ctx, d, tree.NeedNames); err != nil {
		return nil, err
	}
	d.Mu.Lock()
	free := d.Free
	d.Mu.Unlock()
	if !free {
		return nil, errno.ErrNotFree
	}
	if c.queuesFolders(d) {
		return c.queueFolder(d, name, false)
	}
	id, err := c.createFolder(ctx, d, name)
	switch {
	case err != nil && c.fs.opts.Async && archive.Away(err):
		_ = c.fs.Service.Answered(err) // so that the next one is not asked for, and in doubt, too
		return c.queueFolder(d, name, archive.Doubtful(err))
	case err != nil:
		return nil, err
	}
	d.Outdate()
	if d.Kind.Archives() {
		c.fs.Service.Children.Put(id, archive.Structure{Free: free})
		c.fs.Service.Documents.Put(id, nil)
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
func (c *folderChanges) createFolder(ctx context.Context, d *tree.Dir, name string) (archive.ID, error) {
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
	err := c.fs.Service.Change(ctx, func(ctx context.Context) error {
		made, err := c.fs.Service.Archive.CreateFolder(ctx, d.ID(), name)
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
func (c *folderChanges) newFolder(ctx context.Context, d *tree.Dir, name string, before map[archive.ID]bool) (archive.ID, error) {
	d.Distrust()
	if err := d.Tree.LoadFolders(ctx, d, tree.NeedListing); err != nil {
		return 0, err
	}
	d.Mu.Lock()
	defer d.Mu.Unlock()
	for _, e := range d.Shown.Folders.List {
		if !before[e.ID] && e.Entry.ServiceName == name {
			return e.ID, nil
		}
	}
	return 0, nil
}

// folderIDs is the set of sub-folders known now.
func (c *folderChanges) folderIDs(d *tree.Dir) map[archive.ID]bool {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.Shown.Folders.IDs()
}

// addFolder shows a folder that was created here.
func (c *folderChanges) addFolder(d *tree.Dir, id archive.ID, name string) *tree.Entry {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if e := d.Shown.Folders.Get(id); e != nil {
		return e
	}
	e := &tree.Entry{Name: name, Keep: c.fs.KeepFor()}
	e.Dir = tree.NewDir(c.fs.Tree, d.Kind.Below(), id, c.fs.Inodes.Folder(id), d, name)
	d.Shown.Add(e)
	return e
}

func (c *folderChanges) rmdir(ctx context.Context, d *tree.Dir, name string) error {
	if err := c.fs.mayChange(); err != nil {
		return err
	}
	e, err := d.Tree.Lookup(ctx, d, name)
	switch {
	case err != nil:
		return err
	case e.Dir == nil:
		return syscall.ENOTDIR
	case !e.Dir.IsLocal():
		return errno.ErrNotRemoved
	case len(e.Dir.Entries()) > 0:
		return syscall.ENOTEMPTY
	case e.Dir.Kind != tree.LocalDir:
		return c.removeQueued(d, e)
	}
	d.Drop(e)
	return nil
}

// renameDir renames a directory that only this machine has; folders stay where they are.
func (c *folderChanges) renameDir(d *tree.Dir, e *tree.Entry, to *tree.Dir, newName string, over *tree.Entry) error {
	switch {
	case e.Dir.QueuedAs() != nil && e.Dir.Kind != tree.LocalDir && over == nil:
		return c.renameQueued(d, e, to, newName)
	case e.Dir.Kind != tree.LocalDir:
		return errno.ErrNotMoved
	case to.Kind != tree.LocalDir && !names.IsJunkDir(newName) || to.ID() != d.ID():
		return errno.Refuse(syscall.EPERM, "a directory of this machine's own stays one, where it is")
	case over != nil:
		return errno.ErrTaken
	}
	d.Drop(e)
	e.Dir.MoveTo(to, newName)
	to.Add(e.Renamed(newName))
	c.retarget(e.Dir)
	return nil
}

// retarget writes the directory's new place into the records of the files below it.
func (c *folderChanges) retarget(d *tree.Dir) {
	for _, e := range d.Entries() {
		if e.Dir != nil {
			c.retargetFolder(e.Dir)
			c.retarget(e.Dir)
		} else if up := fileAt(e).Pending(); up != nil {
			if err := up.Update(func(r *spool.Record) { r.Local, r.Path = d.Local(), d.Path() }); err != nil {
				c.fs.Service.Failures.Add("rename", up, fileAt(e).Where(), err)
			}
		}
	}
}
