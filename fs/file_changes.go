package fs

import (
	"context"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// fileChanges makes, removes and renames files and documents.
type fileChanges struct{ fs *FileSystem }

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

// mayHold refuses a new name in a directory. In the root and among the inboxes nothing
// can be made, not even what would stay local.
func (c *fileChanges) mayHold(d *tree.Dir, name string) error {
	switch {
	case c.fs.mayChange() != nil:
		return c.fs.mayChange()
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
func (c *fileChanges) isArchived(d *tree.Dir, name string) bool {
	e := d.Reach(name)
	return e != nil && e.Doc.Load() != nil && d.Kind.Archives() && !e.Busy()
}

// keepNew is how long the kernel may trust what it is told of a file that it has just made: a
// program asks once more before it writes. With each write the kernel drops it.
const keepNew = time.Second

// createOpen makes a file in the spool and opens it for writing. A temporary one stays here until
// it gets another name.
func (c *fileChanges) createOpen(ctx context.Context, d *tree.Dir, name string, a content.Access, temporary bool) (*tree.Entry, *writeHandle, error) {
	if err := c.mayHold(d, name); err != nil {
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
			c.fs.staging.discard(fileAt(e).Pending())
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
	r := c.fs.record(d, name, nil)
	r.Temporary = temporary
	up, err := c.fs.staging.spool.Create(r)
	if err != nil {
		return nil, err
	}
	e := &tree.Entry{Name: name}
	f := newFile(c.fs, c.fs.Inodes.Local(), d, e, nil, up)
	e.File.Store(&f.Leaf)
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.Shown.Reach(name) != nil { // a listing brought it meanwhile
		c.fs.staging.discard(up)
		return nil, errno.ErrTaken
	}
	d.Shown.Add(e)
	c.fs.staging.hold(up, f)
	return e, nil
}

// errNoLinks refuses what an archive does not have.
var errNoLinks = errno.Refuse(syscall.EPERM, "an archive holds folders and documents, no links and no special files")

// resize truncates the file, through h where there is a handle: a killed caller's goes no further,
// as its close tells.
func (c *fileChanges) resize(ctx context.Context, f *file, h *writeHandle, size int64) syscall.Errno {
	set := func(ctx context.Context) syscall.Errno {
		return c.fs.Errnos.Of("truncate", f.Where(), c.setSize(ctx, f, h, size))
	}
	if h != nil {
		return set(ctx)
	}
	return c.fs.kernel.outlive(ctx, set, nil)
}

// setSize truncates the file, through h where there is a handle. When nobody has it open for
// writing (truncate(2)), no close will follow: then its new bytes are archived at once.
func (c *fileChanges) setSize(ctx context.Context, f *file, h *writeHandle, size int64) error {
	if err := f.mayWrite(); err != nil {
		return err
	}
	defer f.DoubtPages()
	if h != nil {
		return f.truncate(ctx, h, size)
	}
	open := &writeHandle{file: f, writer: true}
	if err := f.enterHandle(open); err != nil {
		return err
	}
	err := f.truncate(ctx, nil, size)
	switch lastWriter := f.leaveHandle(open); {
	case !lastWriter:
	case err == nil:
		err = c.fs.delivery.finish(ctx, f, false)
	default:
		f.untouched(ctx)
	}
	return err
}

// errNoRemoval refuses to delete what is archived.
var errNoRemoval = errno.Refuse(syscall.EPERM, "archived documents are not deleted")

func (c *fileChanges) unlink(ctx context.Context, d *tree.Dir, name string) error {
	if err := c.fs.mayChange(); err != nil {
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
	case !c.fs.opts.AllowDelete:
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
	err := c.fs.Service.Change(ctx, func(ctx context.Context) error {
		return c.fs.Service.Archive.Delete(ctx, id)
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
