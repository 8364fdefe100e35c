// Package change carries out mkdir, create, rename, rmdir and unlink in terms of the archive.
// Folders changes folders and local directories, Files changes files and documents.
package change

import (
	"context"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/state"
)

// Files creates, removes and renames files and documents.
type Files struct {
	s       *staging.Area
	Folders *Folders
	state   *state.Store
	// allowDelete permits the removal of inbox documents.
	allowDelete bool
}

// New returns the Files, with the Folders, of a mount.
func New(s *staging.Area, kept *state.Store, allowDelete bool) *Files {
	return &Files{s: s, Folders: &Folders{s: s}, state: kept, allowDelete: allowDelete}
}

// CreateOpen creates a file in the spool and opens it for writing. as says what it is by its name and by
// how it is created.
func (c *Files) CreateOpen(ctx context.Context, d *tree.Dir, name string, a content.Access, as names.Working) (*tree.Entry, *staging.Handle, error) {
	if err := c.Folders.mayHold(d, name); err != nil {
		return nil, nil, err
	}
	e, err := c.create(ctx, d, name, as)
	if err != nil {
		return nil, nil, err
	}
	document := e.Doc.Load() != nil
	a.Write, a.Truncate = true, document
	h, err := staging.FileAt(e).OpenWrite(ctx, a, nil)
	if err != nil {
		if !document {
			d.Drop(e)
			c.s.Discard(staging.FileAt(e).Pending())
		}
		return nil, nil, err
	}
	return e, h, nil
}

// create puts an empty file into the spool and shows it. If a document is hidden under the name,
// create shows that document, which gets the new bytes.
func (c *Files) create(ctx context.Context, d *tree.Dir, name string, as names.Working) (*tree.Entry, error) {
	if d.Reach(name) != nil {
		return nil, errno.ErrTaken
	}
	if e := c.showAgain(d, name); e != nil {
		return e, nil
	}
	r := c.s.People.Sign(ctx, c.s.Record(d, name, nil))
	switch as {
	case names.Certain:
		r.Temporary, r.Rest, r.Written = true, 0, ""
	case names.Doubtful:
		r.Rest, r.Doubted, r.Written = max(r.Rest, staging.Doubt), true, ""
	case names.Real:
	}
	up, err := c.s.Create(r)
	if err != nil {
		return nil, err
	}
	e := &tree.Entry{Name: name}
	f := staging.NewFile(c.s, c.s.Inodes.Local(), d, e, nil, up)
	e.File.Store(&f.Leaf)
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.Shown.Reach(name) != nil { // a listing has shown one meanwhile
		c.s.Discard(up)
		return nil, errno.ErrTaken
	}
	d.Shown.Add(e)
	c.s.Hold(up, f)
	return e, nil
}

// showAgain shows the document that is hidden under the name. It returns nil if there is none, or
// if something else has the name.
func (c *Files) showAgain(d *tree.Dir, name string) *tree.Entry {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	hidden := d.Shown.Hidden(name)
	if hidden == nil || d.Shown.Taken(name) {
		return nil
	}
	return d.Shown.Unhide(hidden)
}

// errNoRemoval is returned for the removal of an archived document.
var errNoRemoval = errno.Refuse(syscall.EPERM, "archived documents are not deleted")

// Unlink removes a file that was never archived or, if the mount allows it, an inbox document.
func (c *Files) Unlink(ctx context.Context, d *tree.Dir, name string) error {
	if err := c.s.MayChange(); err != nil {
		return err
	}
	e, err := d.Tree.Lookup(ctx, d, name)
	if err != nil {
		return err
	}
	doc := e.Doc.Load()
	switch {
	case e.Dir != nil:
		return syscall.EISDIR
	case doc == nil:
		return c.removeLocal(staging.FileAt(e))
	case d.Kind() != tree.InboxDir:
		return errNoRemoval
	case !c.allowDelete:
		return errno.Refuse(syscall.EPERM, "inbox documents can be deleted only if the archive is mounted with --allow-delete")
	}
	if err := c.deleteShown(ctx, d, e); err != nil {
		return err
	}
	c.forgetShown(d, e, name)
	return nil
}

// deleteShown deletes an inbox document at the service and here.
func (c *Files) deleteShown(ctx context.Context, d *tree.Dir, e *tree.Entry) error {
	f, id := staging.FileOf(d, e), e.Doc.Load().ID
	f.Commit.Lock() // new bytes of it may be in flight
	defer f.Commit.Unlock()
	err := c.s.Spool.SyncRemovals() // else a crash of the machine has the next mount send it again
	if err == nil {
		err = c.deleteDocument(ctx, d, id)
	}
	if err != nil {
		return err
	}
	f.Remove()
	d.Mu.Lock()
	d.AmendLocked(id, nil)
	d.Mu.Unlock()
	c.s.Vanishing.From(d, id, e.Name)
	return nil
}

// removeLocal removes a file that the archive does not have. It waits for an upload in flight, and
// fails if that archives the file, or may have (EBUSY): `uploads discard` gives up what is here of such a file.
func (c *Files) removeLocal(f *staging.File) error {
	f.Commit.Lock()
	defer f.Commit.Unlock()
	if f.Document() != nil || f.ArchivedUnlisted() {
		return errNoRemoval
	}
	if d, _ := f.Place(); d == nil {
		return syscall.ENOENT // it was archived or failed meanwhile
	}
	up := f.Pending()
	r := up.Record()
	if r.State.IsFailed() && r.Doubtful {
		return errno.ErrMayHave
	}
	if r.State.InQueue() { // recalled, so that open handles can write
		if err := f.RecallLocked(up); err != nil {
			return err
		}
	}
	if err := up.Remove(); err != nil {
		return err
	}
	f.Remove()
	return nil
}

func (c *Files) deleteDocument(ctx context.Context, d *tree.Dir, id archive.ID) error {
	err := c.s.Service.Change(ctx, func(ctx context.Context) error {
		return c.s.Service.Archive.Delete(ctx, id)
	}, func(ctx context.Context) (bool, error) {
		docs, err := d.Tree.ListAfresh(ctx, d)
		return tree.FindDocument(docs, id) == nil, err
	})
	if archive.KindOf(err) == archive.KindUnsupported {
		return errno.Refuse(syscall.EPERM, err.Error())
	}
	return err
}

// forgetShown makes the kernel forget the name that d shows for an entry, if the caller used another of its names.
func (c *Files) forgetShown(d *tree.Dir, e *tree.Entry, used string) {
	if e.Name != used {
		c.s.Changed(d, []string{e.Name})
	}
}
