package change

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// Folders makes, removes and renames folders and local directories.
type Folders struct{ s *staging.Area }

// recentlyAway is how long a service that was found away is not asked for a folder.
const recentlyAway = 5 * time.Second

// queuesFolders reports whether a new folder is queued without asking the service.
func (c *Folders) queuesFolders(d *tree.Dir) bool {
	if d.QueuedAs() != nil {
		return true
	}
	away := c.s.Service.Away()
	return c.s.Async && away != nil && c.s.Service.Now().Sub(away.Time) < recentlyAway
}

// removeQueued removes a queued folder, which must be empty, before the service has it.
// While it is being made that is waited for.
func (c *Folders) removeQueued(d *tree.Dir, e *tree.Entry) error {
	up := e.Dir.QueuedAs()
	if up == nil {
		return errno.ErrNotRemoved
	}
	held := c.s.Holder(up)
	held.Commit.Lock()
	defer held.Commit.Unlock()
	return c.s.Folders.RemoveLocked(held, d, e, up)
}

// renameQueued gives a queued folder another place or name. While it is being made that is
// waited for.
func (c *Folders) renameQueued(d *tree.Dir, e *tree.Entry, to *tree.Dir, newName string) error {
	up := e.Dir.QueuedAs()
	if up == nil {
		return errno.ErrNotMoved
	}
	if err := mayBeFolder(newName); err != nil {
		return err
	}
	held := c.s.Holder(up)
	held.Commit.Lock()
	defer held.Commit.Unlock()
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
	if err := up.Update(func(r *spool.Record) { retarget(r, c.s.Record(to, newName, nil)) }); err != nil {
		return err
	}
	d.Drop(e)
	e.Dir.MoveTo(to, newName)
	to.Add(e.Renamed(newName))
	c.retarget(e.Dir)
	if up.Record().Queued {
		c.s.Enqueue(up) // it may have left a folder that is not made
	}
	return nil
}

// retargetFolder writes the place of a queued folder, which a folder above left, into its
// record.
func (c *Folders) retargetFolder(d *tree.Dir) {
	up := d.Queued.Load()
	if up == nil {
		return
	}
	above := d.Above()
	if err := up.Update(func(r *spool.Record) { r.Path = above.Path() }); err != nil {
		c.s.Service.Failures.Add("rename", up, d.Path(), err)
	}
}

// Mkdir creates a folder at the service, or a local directory under a junk name. A folder that the
// service cannot make now is queued where writes are asynchronous.
func (c *Folders) Mkdir(ctx context.Context, d *tree.Dir, name string) (*tree.Entry, error) {
	if err := c.mayHold(d, name); err != nil {
		return nil, err
	}
	if d.Kind == tree.LocalDir || names.IsJunkDir(name) {
		e := &tree.Entry{Name: name, Dir: tree.NewDir(c.s.Tree, tree.LocalDir, 0, c.s.Inodes.Local(), d, name)}
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
		return c.s.Folders.Add(d, name, false)
	}
	id, err := c.createFolder(ctx, d, name)
	switch {
	case err != nil && c.s.Async && archive.Away(err):
		_ = c.s.Service.Answered(err) // so that the next one is not asked for, and in doubt, too
		return c.s.Folders.Add(d, name, archive.Doubtful(err))
	case err != nil:
		return nil, err
	}
	d.Outdate()
	if d.Kind.Archives() {
		c.s.Service.Children.Put(id, archive.Structure{Free: free})
		c.s.Service.Documents.Put(id, nil)
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
func (c *Folders) createFolder(ctx context.Context, d *tree.Dir, name string) (archive.ID, error) {
	before := c.folderIDs(d)
	var id archive.ID
	var busy bool
	look := func(ctx context.Context) (bool, error) {
		if busy && c.s.Async {
			return false, errQueueLooks
		}
		var err error
		id, err = c.newFolder(ctx, d, name, before)
		return id != 0, err
	}
	err := c.s.Service.Change(ctx, func(ctx context.Context) error {
		made, err := c.s.Service.Archive.CreateFolder(ctx, d.ID(), name)
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
func (c *Folders) newFolder(ctx context.Context, d *tree.Dir, name string, before map[archive.ID]bool) (archive.ID, error) {
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
func (c *Folders) folderIDs(d *tree.Dir) map[archive.ID]bool {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.Shown.Folders.IDs()
}

// addFolder shows a folder that was created here.
func (c *Folders) addFolder(d *tree.Dir, id archive.ID, name string) *tree.Entry {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if e := d.Shown.Folders.Get(id); e != nil {
		return e
	}
	e := &tree.Entry{Name: name, Keep: c.s.KeepFor()}
	e.Dir = tree.NewDir(c.s.Tree, d.Kind.Below(), id, c.s.Inodes.Folder(id), d, name)
	d.Shown.Add(e)
	return e
}

// Rmdir removes a directory that only this machine has.
func (c *Folders) Rmdir(ctx context.Context, d *tree.Dir, name string) error {
	if err := c.s.MayChange(); err != nil {
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
func (c *Folders) renameDir(d *tree.Dir, e *tree.Entry, to *tree.Dir, newName string, over *tree.Entry) error {
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
func (c *Folders) retarget(d *tree.Dir) {
	for _, e := range d.Entries() {
		if e.Dir != nil {
			c.retargetFolder(e.Dir)
			c.retarget(e.Dir)
		} else if up := staging.FileAt(e).Pending(); up != nil {
			if err := up.Update(func(r *spool.Record) { r.Local, r.Path = d.Local(), d.Path() }); err != nil {
				c.s.Service.Failures.Add("rename", up, staging.FileAt(e).Where(), err)
			}
		}
	}
}

// mayHold refuses a new name in a directory. In the root and among the inboxes nothing
// can be made, not even what would stay local.
func (c *Folders) mayHold(d *tree.Dir, name string) error {
	switch {
	case c.s.MayChange() != nil:
		return c.s.MayChange()
	case d.Kind == tree.RootDir:
		return errno.Refuse(syscall.EPERM, "nothing can be made beside the mandators")
	case d.Kind == tree.InboxesDir:
		return errno.Refuse(syscall.EPERM, "nothing can be made beside the inboxes")
	case len(name) > names.Max:
		return errno.Refuse(syscall.ENAMETOOLONG, "a name has at most 255 bytes")
	case !utf8.ValidString(name):
		return errno.Refuse(syscall.EILSEQ, "the archive's names are Unicode, and this one is no UTF-8")
	case strings.HasSuffix(name, ".part") && c.isArchived(d, strings.TrimSuffix(name, ".part")):
		// Dolphin writes NAME.part and then removes NAME: refused here it says so, refused
		// there it says nothing.
		return errno.Refuse(syscall.EPERM, "it would replace an archived document, and those do not change")
	}
	return nil
}

// isArchived reports whether an archived document is found under the name.
func (c *Folders) isArchived(d *tree.Dir, name string) bool {
	e := d.Reach(name)
	return e != nil && e.Doc.Load() != nil && d.Kind.Archives() && !e.Busy()
}
