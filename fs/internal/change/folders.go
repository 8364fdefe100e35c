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

// Folders creates, removes and renames folders and local directories.
type Folders struct{ s *staging.Area }

// Mkdir creates a folder at the service, or a local directory if d is local or programs work in directories of that
// name. With a time of grace the folder is queued, with asynchronous writes if the service is away.
func (c *Folders) Mkdir(ctx context.Context, d *tree.Dir, name string) (*tree.Entry, error) {
	if err := c.mayHold(d, name); err != nil {
		return nil, err
	}
	if d.Reach(name) != nil { // by another Unicode form of the name
		return nil, errno.ErrTaken
	}
	if keepsLocal(d, name) {
		e := &tree.Entry{Name: name, Dir: tree.NewDir(c.s.Tree, tree.LocalDir, 0, c.s.Inodes.Local(), d, name)}
		d.Add(e)
		return e, nil
	}
	if err := mayBeFolder(name); err != nil {
		return nil, err
	}
	if err := mayHoldFolders(ctx, d); err != nil {
		return nil, err
	}
	if c.queuesFolders(d, name) {
		return c.s.Folders.Add(ctx, d, name, false)
	}
	id, err := c.createFolder(ctx, d, name)
	switch {
	case err != nil && c.s.Async && archive.Away(err):
		_ = c.s.Service.Answered(err) // so that the next folder is queued without a request
		return c.s.Folders.Add(ctx, d, name, archive.Doubtful(err))
	case err != nil:
		return nil, err
	}
	if d.Kind().Archives() {
		c.s.Service.Children.Put(id, archive.Structure{Free: true})
		c.s.Service.Documents.Put(id, nil)
	}
	return c.addFolder(d, id, name), nil
}

// keepsLocal reports whether a directory of that name in d is a local one.
func keepsLocal(d *tree.Dir, name string) bool {
	return d.Kind() == tree.LocalDir || d.Tree.Working.Directory(name)
}

// mayHoldFolders returns an error if folders cannot be created in d.
func mayHoldFolders(ctx context.Context, d *tree.Dir) error {
	if err := d.Tree.LoadFolders(ctx, d, tree.NeedNames); err != nil {
		return err
	}
	if !d.Free.Load() {
		return errno.ErrNotFree
	}
	return nil
}

// mayHold refuses a name that cannot be created in d. Nothing can be created in the root or among
// the inboxes, not even local files.
func (c *Folders) mayHold(d *tree.Dir, name string) error {
	switch {
	case c.s.MayChange() != nil:
		return c.s.MayChange()
	case d.Kind() == tree.RootDir:
		return errno.Refuse(syscall.EPERM, "nothing can be made beside the mandators")
	case d.Kind() == tree.InboxesDir:
		return errno.Refuse(syscall.EPERM, "nothing can be made beside the inboxes")
	case len(name) > names.Max:
		return errno.Refuse(syscall.ENAMETOOLONG, "a name has at most 255 bytes")
	case !utf8.ValidString(name):
		return errno.Refuse(syscall.EILSEQ, "the archive's names are Unicode, and this one is no UTF-8")
	case strings.HasSuffix(name, ".part") && c.isArchived(d, strings.TrimSuffix(name, ".part")):
		// Dolphin writes NAME.part and then removes NAME. It reports an error here, but not one of the removal.
		return errno.Refuse(syscall.EPERM, "it would replace an archived document, and those do not change")
	}
	return nil
}

func (c *Folders) isArchived(d *tree.Dir, name string) bool {
	e := d.Reach(name)
	return e != nil && e.Doc.Load() != nil && d.Kind().Archives() && !e.Busy()
}

// mayBeFolder refuses to give a folder at the service a name under which programs keep their own files, such as .git.
func mayBeFolder(name string) error {
	if !names.IsWorkshop(name) {
		return nil
	}
	return errno.Refuse(syscall.EPERM, "a program keeps for itself what is in a directory called "+name+", and all of it would be archived for good: work in a directory of this machine")
}

// recentlyAway is how long new folders are queued without a request after the service was found away.
const recentlyAway = 5 * time.Second

// queuesFolders reports whether a new folder in d is queued without a request.
func (c *Folders) queuesFolders(d *tree.Dir, name string) bool {
	if d.QueuedAs() != nil || c.s.Record(d, name, nil).Rest > 0 {
		return true
	}
	away := c.s.Service.Away()
	return c.s.Async && away != nil && c.s.Service.Now().Sub(away.Time) < recentlyAway
}

// errQueueLooks says that the queue will find out whether a folder was created.
var errQueueLooks = errors.New("the folder is queued")

// createFolder creates a folder and returns its id, taken from a listing if the answer has none. If the service is busy
// and writes are asynchronous, it neither looks nor waits, because the queue does.
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

// newFolder lists the directory afresh and returns the id of a folder that has the name and is not
// in before, 0 if there is none.
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

func (c *Folders) folderIDs(d *tree.Dir) map[archive.ID]bool {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.Shown.Folders.IDs()
}

// addFolder shows a folder that was created through this mount.
func (c *Folders) addFolder(d *tree.Dir, id archive.ID, name string) *tree.Entry {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if e := d.Shown.Folders.Get(id); e != nil {
		return e
	}
	e := &tree.Entry{Name: name, Keep: c.s.KeepFor()}
	e.Dir = tree.NewDir(c.s.Tree, d.Kind().Below(), id, c.s.Inodes.Folder(id), d, name)
	c.s.AddFolderLocked(d, e, name)
	return e
}

// Rmdir removes a local directory or a queued folder. A folder of the service cannot be removed.
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
	case e.Dir.Kind() != tree.LocalDir:
		return c.removeQueued(d, e)
	}
	d.Drop(e)
	return nil
}

// removeQueued removes a queued folder, which must be empty, before the service has it. It waits
// for a request in flight that creates the folder.
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

// renameDir renames or moves a directory that the service does not have: a local one, or a queued
// folder. It becomes what a directory of that name is in its new place, and what lies in it goes along.
// over, if not nil, has the new name.
func (c *Files) renameDir(ctx context.Context, d *tree.Dir, e *tree.Entry, to *tree.Dir, newName string, over *tree.Entry) error {
	if !e.Dir.IsLocal() {
		return errno.ErrNotMoved
	}
	if !keepsLocal(to, newName) {
		if err := mayBeFolder(newName); err != nil {
			return err
		}
		if err := mayHoldFolders(ctx, to); err != nil {
			return err
		}
	}
	switch {
	case over == nil:
	case over.Dir == nil:
		return syscall.ENOTDIR
	case !over.Dir.IsLocal():
		return errno.ErrTaken
	default:
		if err := c.Folders.Rmdir(ctx, to, over.Name); err != nil {
			return err
		}
	}
	return c.moveTree(ctx, d, e, to, newName)
}

// moveTree is renameDir after its checks, for e and everything in it. It waits for a request in flight that
// creates the folder.
func (c *Files) moveTree(ctx context.Context, d *tree.Dir, e *tree.Entry, to *tree.Dir, newName string) error {
	dir, before := e.Dir, e.Dir.Queued.Load()
	if before != nil {
		held := c.s.Holder(before)
		held.Commit.Lock()
		defer held.Commit.Unlock()
		switch {
		case dir.QueuedAs() == nil:
			return errno.ErrNotMoved // it was created meanwhile
		case before.State().InFlight():
			return errno.ErrMayHave
		}
	}
	kind, up := tree.LocalDir, (*spool.Upload)(nil)
	if !keepsLocal(to, newName) {
		var err error
		if kind, up = to.Kind().Below(), before; up == nil {
			up, err = c.s.Spool.CreateFolder(c.s.People.Sign(ctx, c.s.Record(to, newName, nil)), false)
		} else {
			err = up.Update(func(r *spool.Record) { retarget(r, c.s.Record(to, newName, nil)) })
		}
		if err != nil {
			return err
		}
	}
	d.Drop(e)
	dir.MoveTo(to, newName, kind, up)
	to.Add(e.Renamed(newName))
	for _, in := range dir.Entries() {
		c.moveAlong(ctx, dir, in)
	}
	if up != nil && up == before { // what failed, and is shown no more, is listed and exported where its folder is
		for _, in := range c.s.Spool.List() {
			if r := in.Record(); r.Within == up.ID() && r.State.IsFailed() {
				if err := in.Update(func(r *spool.Record) { r.Path = dir.Path() }); err != nil {
					return err
				}
			}
		}
	}
	return c.s.Folders.Replaced(dir, before, up)
}

// moveAlong gives what lies in a moved directory its new place.
func (c *Files) moveAlong(ctx context.Context, dir *tree.Dir, in *tree.Entry) {
	var err error
	if in.Dir != nil {
		err = c.moveTree(ctx, dir, in, dir, in.Name)
	} else {
		err = c.renameLocal(ctx, staging.FileAt(in), dir, in.Name, nil)
	}
	if up := in.Upload(); err != nil && up != nil {
		c.s.Service.Failures.Add("rename", up, dir.PathOf(in.Name), err)
	}
}
