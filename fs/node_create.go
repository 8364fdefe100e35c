package fs

import (
	"context"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
)

// mayHold refuses a new name in a directory. In the root and among the inboxes nothing
// can be made, not even what would stay local.
func (c *fileChanges) mayHold(d *dir, name string) error {
	switch {
	case c.fs.mayChange() != nil:
		return c.fs.mayChange()
	case d.kind == rootDir:
		return errno.Refuse(syscall.EPERM, "nothing can be made beside the mandators")
	case d.kind == inboxesDir:
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
func (c *fileChanges) isArchived(d *dir, name string) bool {
	e := d.reach(name)
	return e != nil && e.doc.Load() != nil && d.kind.archives() && !e.busy()
}

// Create makes a file in the spool and opens it.
func (n *dirNode) Create(ctx context.Context, name string, flags uint32, mode uint32, out *fuse.EntryOut) (*fusefs.Inode, fusefs.FileHandle, uint32, syscall.Errno) {
	e, h, err := n.d.fs.files.createOpen(detached(ctx), n.d, name, accessOf(ctx, flags), names.IsMkstemp(name, flags, mode))
	if err != nil {
		return nil, nil, 0, n.d.fs.errnos.Of("create", n.d.pathOf(name), err)
	}
	n.d.fs.kernel.fillEntry(n.d, e, out)
	if e.doc.Load() == nil {
		out.SetAttrTimeout(keepNew)
	}
	return n.nodeOf(ctx, e), h, 0, 0
}

// keepNew is how long the kernel may trust what it is told of a file that it has just made: a
// program asks once more before it writes. With each write the kernel drops it.
const keepNew = time.Second

// Mknod makes a file without opening it, as tar does for one that has attributes. The tree
// holds folders and documents, nothing else.
func (n *dirNode) Mknod(ctx context.Context, name string, mode, _ uint32, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	if mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil, n.d.fs.errnos.Of("mknod", n.d.pathOf(name), errNoLinks)
	}
	e, h, err := n.d.fs.files.createOpen(detached(ctx), n.d, name, accessOf(ctx, syscall.O_WRONLY), false)
	if err != nil {
		return nil, n.d.fs.errnos.Of("mknod", n.d.pathOf(name), err)
	}
	if errno := h.Release(ctx); errno != 0 {
		return nil, errno
	}
	n.d.fs.kernel.fillEntry(n.d, e, out)
	return n.nodeOf(ctx, e), 0
}

// createOpen makes a file in the spool and opens it for writing. A temporary one stays here until
// it gets another name.
func (c *fileChanges) createOpen(ctx context.Context, d *dir, name string, a access, temporary bool) (*entry, *writeHandle, error) {
	if err := c.mayHold(d, name); err != nil {
		return nil, nil, err
	}
	e, err := c.create(d, name, temporary)
	if err != nil {
		return nil, nil, err
	}
	document := e.doc.Load() != nil
	a.write, a.truncate = true, document
	h, err := e.file.Load().openWrite(ctx, a, nil)
	if err != nil {
		if !document {
			d.drop(e)
			c.fs.staging.discard(e.file.Load().pending())
		}
		return nil, nil, err
	}
	return e, h, nil
}

// create puts an empty file into the spool and shows it. Under the name of a document that
// was set aside it is that document, which gets new bytes.
func (c *fileChanges) create(d *dir, name string, temporary bool) (*entry, error) {
	if d.reach(name) != nil {
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
	e := &entry{name: name}
	f := newFile(c.fs, c.fs.inodes.Local(), d, e, nil, up)
	e.file.Store(f)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shown.reach(name) != nil { // a listing brought it meanwhile
		c.fs.staging.discard(up)
		return nil, errno.ErrTaken
	}
	d.shown.add(e)
	c.fs.staging.hold(up, f)
	return e, nil
}

// errNoLinks refuses what an archive does not have.
var errNoLinks = errno.Refuse(syscall.EPERM, "an archive holds folders and documents, no links and no special files")

func (n *dirNode) Link(_ context.Context, _ fusefs.InodeEmbedder, name string, _ *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, n.d.fs.errnos.Of("link", n.d.pathOf(name), errNoLinks)
}

func (n *dirNode) Symlink(_ context.Context, _, name string, _ *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, n.d.fs.errnos.Of("symlink", n.d.pathOf(name), errNoLinks)
}
