package fs

import (
	"context"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// fileChanges makes, removes and renames files and documents.
type fileChanges struct {
	s       *staging
	folders *folderChanges
	// allowDelete lets an inbox document be removed.
	allowDelete bool
}

// newChanges makes what changes names.
func newChanges(s *staging, allowDelete bool) *fileChanges {
	return &fileChanges{s: s, folders: &folderChanges{s: s}, allowDelete: allowDelete}
}

// showAgain shows the document of the name that was set aside, nil without one.
func (c *fileChanges) showAgain(d *tree.Dir, name string) *tree.Entry {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	hidden := d.Shown.Hidden(name)
	if hidden == nil || d.Shown.Taken(name) {
		return nil
	}
	return d.Shown.Unhide(hidden)
}

// keepNew is how long the kernel may trust what it is told of a file that it has just made: a
// program asks once more before it writes. With each write the kernel drops it.
const keepNew = time.Second

// createOpen makes a file in the spool and opens it for writing. A temporary one stays here until
// it gets another name.
func (c *fileChanges) createOpen(ctx context.Context, d *tree.Dir, name string, a content.Access, temporary bool) (*tree.Entry, *handle, error) {
	if err := c.folders.mayHold(d, name); err != nil {
		return nil, nil, err
	}
	e, err := c.create(d, name, temporary)
	if err != nil {
		return nil, nil, err
	}
	document := e.Doc.Load() != nil
	a.Write, a.Truncate = true, document
	h, err := fileAt(e).openWrite(ctx, a, nil)
	if err != nil {
		if !document {
			d.Drop(e)
			c.s.discard(fileAt(e).Pending())
		}
		return nil, nil, err
	}
	return e, h, nil
}

// create puts an empty file into the spool and shows it. Under the name of a document that
// was set aside it is that document, which gets new bytes.
func (c *fileChanges) create(d *tree.Dir, name string, temporary bool) (*tree.Entry, error) {
	if d.Reach(name) != nil {
		return nil, errno.ErrTaken
	}
	if e := c.showAgain(d, name); e != nil {
		return e, nil
	}
	r := c.s.record(d, name, nil)
	r.Temporary = temporary
	up, err := c.s.Spool.Create(r)
	if err != nil {
		return nil, err
	}
	e := &tree.Entry{Name: name}
	f := newFile(c.s, c.s.Inodes.Local(), d, e, nil, up)
	e.File.Store(&f.Leaf)
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.Shown.Reach(name) != nil { // a listing brought it meanwhile
		c.s.discard(up)
		return nil, errno.ErrTaken
	}
	d.Shown.Add(e)
	c.s.hold(up, f)
	return e, nil
}

// errNoLinks refuses what an archive does not have.
var errNoLinks = errno.Refuse(syscall.EPERM, "an archive holds folders and documents, no links and no special files")

// setSize truncates the file, through h where there is a handle. When nobody has it open for
// writing (truncate(2)), no close will follow: then its new bytes are archived at once.
func (c *fileChanges) setSize(ctx context.Context, f *file, h *handle, size int64) error {
	if err := f.mayWrite(); err != nil {
		return err
	}
	defer f.DoubtPages()
	if h != nil {
		return f.truncate(ctx, h, size)
	}
	open := &handle{file: f, writer: true}
	if err := f.enterHandle(open); err != nil {
		return err
	}
	err := f.truncate(ctx, nil, size)
	switch lastWriter := f.leaveHandle(open); {
	case !lastWriter:
	case err == nil:
		err = c.s.delivery.finish(ctx, f, false)
	default:
		f.untouched(ctx)
	}
	return err
}

// errNoRemoval refuses to delete what is archived.
var errNoRemoval = errno.Refuse(syscall.EPERM, "archived documents are not deleted")

func (c *fileChanges) unlink(ctx context.Context, d *tree.Dir, name string) error {
	if err := c.s.mayChange(); err != nil {
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
		return c.removeLocal(fileAt(e))
	case d.Kind != tree.InboxDir:
		return errNoRemoval
	case !c.allowDelete:
		return errno.Refuse(syscall.EPERM, "documents of an inbox are deleted only where the archive is mounted with --allow-delete")
	}
	f := fileOf(d, e)
	f.commit.Lock() // new bytes of it may be on their way
	defer f.commit.Unlock()
	if err := c.deleteDocument(ctx, d, doc.ID); err != nil {
		return err
	}
	d.Outdate()
	f.remove()
	c.forgetShown(d, e, name)
	return nil
}

// deleteDocument deletes an inbox document.
func (c *fileChanges) deleteDocument(ctx context.Context, d *tree.Dir, id archive.ID) error {
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
func (c *fileChanges) removeLocal(f *file) error {
	f.commit.Lock()
	defer f.commit.Unlock()
	if f.Document() != nil || f.archivedUnlisted() {
		return errNoRemoval
	}
	if d, _ := f.Place(); d == nil {
		return syscall.ENOENT // it was archived meanwhile, or failed
	}
	up := f.Pending()
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
