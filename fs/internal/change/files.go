package change

import (
	"context"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/state"
)

// Files makes, removes and renames files and documents.
type Files struct {
	s       *staging.Area
	Folders *Folders
	state   *state.Store
	// allowDelete lets an inbox document be removed.
	allowDelete bool
}

// New makes what changes names.
func New(s *staging.Area, kept *state.Store, allowDelete bool) *Files {
	return &Files{s: s, Folders: &Folders{s: s}, state: kept, allowDelete: allowDelete}
}

// showAgain shows the document of the name that was set aside, nil without one.
func (c *Files) showAgain(d *tree.Dir, name string) *tree.Entry {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	hidden := d.Shown.Hidden(name)
	if hidden == nil || d.Shown.Taken(name) {
		return nil
	}
	return d.Shown.Unhide(hidden)
}

// CreateOpen makes a file in the spool and opens it for writing. A temporary one stays here until
// it gets another name.
func (c *Files) CreateOpen(ctx context.Context, d *tree.Dir, name string, a content.Access, temporary bool) (*tree.Entry, *staging.Handle, error) {
	if err := c.Folders.mayHold(d, name); err != nil {
		return nil, nil, err
	}
	e, err := c.create(d, name, temporary)
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

// create puts an empty file into the spool and shows it. Under the name of a document that
// was set aside it is that document, which gets new bytes.
func (c *Files) create(d *tree.Dir, name string, temporary bool) (*tree.Entry, error) {
	if d.Reach(name) != nil {
		return nil, errno.ErrTaken
	}
	if e := c.showAgain(d, name); e != nil {
		return e, nil
	}
	r := c.s.Record(d, name, nil)
	r.Temporary = temporary
	up, err := c.s.Spool.Create(r)
	if err != nil {
		return nil, err
	}
	e := &tree.Entry{Name: name}
	f := staging.NewFile(c.s, c.s.Inodes.Local(), d, e, nil, up)
	e.File.Store(&f.Leaf)
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.Shown.Reach(name) != nil { // a listing brought it meanwhile
		c.s.Discard(up)
		return nil, errno.ErrTaken
	}
	d.Shown.Add(e)
	c.s.Hold(up, f)
	return e, nil
}

// errNoRemoval refuses to delete what is archived.
var errNoRemoval = errno.Refuse(syscall.EPERM, "archived documents are not deleted")

// Unlink removes what was never archived, and an inbox document where that is allowed.
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
	case d.Kind != tree.InboxDir:
		return errNoRemoval
	case !c.allowDelete:
		return errno.Refuse(syscall.EPERM, "documents of an inbox are deleted only where the archive is mounted with --allow-delete")
	}
	f := staging.FileOf(d, e)
	f.Commit.Lock() // new bytes of it may be on their way
	defer f.Commit.Unlock()
	if err := c.deleteDocument(ctx, d, doc.ID); err != nil {
		return err
	}
	d.Outdate()
	f.Remove()
	c.forgetShown(d, e, name)
	return nil
}

// deleteDocument deletes an inbox document.
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

// removeLocal removes a file that the archive does not have. One that is being sent is
// waited for: then the archive has it.
func (c *Files) removeLocal(f *staging.File) error {
	f.Commit.Lock()
	defer f.Commit.Unlock()
	if f.Document() != nil || f.ArchivedUnlisted() {
		return errNoRemoval
	}
	if d, _ := f.Place(); d == nil {
		return syscall.ENOENT // it was archived meanwhile, or failed
	}
	up := f.Pending()
	if up.Record().Queued { // who has it open goes on writing
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
