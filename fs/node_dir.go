package fs

import (
	"context"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
)

// dirNode is a directory as the kernel sees it.
type dirNode struct {
	fusefs.Inode
	d    *dir
	list kernelList
}

// nodeOf is the inode of an entry. A directory keeps its own, wherever it is shown; that of
// a file is found again by its number and generation while the kernel knows it.
func (n *dirNode) nodeOf(ctx context.Context, e *entry) *fusefs.Inode {
	if e.dir != nil {
		return n.attach(ctx, e.dir)
	}
	f := n.d.fileOf(e)
	return n.NewInode(ctx, &fileNode{f: f}, fusefs.StableAttr{Mode: fuse.S_IFREG, Ino: f.ino, Gen: f.generation()})
}

// attach is the inode of the directory, made by the first that asks, below n.
func (n *dirNode) attach(ctx context.Context, d *dir) *fusefs.Inode {
	d.attached.Do(func() {
		d.node.Store(n.NewInode(ctx, &dirNode{d: d}, fusefs.StableAttr{Mode: fuse.S_IFDIR, Ino: d.ino, Gen: d.gen}))
	})
	return d.node.Load()
}

func (n *dirNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	d := n.d
	if len(name) > names.Max {
		return nil, syscall.ENAMETOOLONG
	}
	if d.kind == rootDir && name == controlName {
		return d.fs.showControl(ctx, &n.Inode, d.fs.control.Root(), out)
	}
	walked{d}.lookingUp(ctx, name)
	e, err := d.fs.lister.lookup(ctx, d, name)
	if err != nil {
		errno := d.fs.errnos.Of("lookup", d.pathOf(name), err)
		if errno == syscall.ENOENT {
			out.SetEntryTimeout(d.fs.kernel.lendAbsence(d, name))
		}
		return nil, errno
	}
	if e.dir == nil {
		walked{d}.looked()
	}
	d.fs.kernel.fillEntry(d, e, out)
	if e.name != name && e.name != names.OtherForm(name) {
		out.SetEntryTimeout(0) // a plain name ends with the document, and when an entry gets it
	}
	return n.nodeOf(ctx, e), 0
}

func (n *dirNode) Getattr(_ context.Context, _ fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.d.fs.kernel.fillDir(n.d, &out.Attr)
	out.SetTimeout(n.d.fs.kernel.validFor(n.d))
	return 0
}

// Setattr accepts times, owners and modes without effect, so that cp -a and rsync succeed.
func (n *dirNode) Setattr(_ context.Context, _ fusefs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if err := n.d.fs.mayChange(); err != nil {
		return errno.Of(err)
	}
	n.d.fs.kernel.fillDir(n.d, &out.Attr)
	return 0
}

func (n *dirNode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	return n.d.fs.statfs(out)
}

// dirHandle is an open directory: one listing, from its opening on.
type dirHandle struct {
	n       *dirNode
	entries []*entry // nil until it is read, when the directory was folded
	told    *told
	keep    bool // the kernel keeps what it reads
	drop    drop // what it had, once it reads or closes this
	next    int
	last    *entry
	looked  int           // entries that were told with attributes
	out     fuse.DirEntry // of last; the library copies it
}

var (
	_ = fusefs.FileReaddirenter((*dirHandle)(nil))
	_ = fusefs.FileLookuper((*dirHandle)(nil))
	_ = fusefs.FileSeekdirer((*dirHandle)(nil))
	_ = fusefs.FileFsyncdirer((*dirHandle)(nil))
	_ = fusefs.FileReleasedirer((*dirHandle)(nil))
)

// OpendirHandle asks the service for what it does not know freshly. A directory that
// cannot be listed is an error, never an empty one.
func (n *dirNode) OpendirHandle(ctx context.Context, _ uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	walks, pid := n.d.fs.walks, callerPID(ctx)
	defer walks.Opened(pid)
	w := walks.Opening(ctx, pid, walked{n.d}.line())
	if err := n.d.fs.lister.load(ctx, n.d, needListing); err != nil {
		return nil, 0, n.d.fs.errnos.Of("list", n.d.path(), err)
	}
	h := &dirHandle{n: n}
	h.told, h.entries = n.d.told(walked{n.d}.byName(w))
	if h.keep, h.drop = n.list.opening(h.told); h.keep {
		return h, fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE, 0
	}
	return h, 0, 0
}

// Releasedir ends what the kernel lists through the handle. A directory of which a walk was
// told names alone is folded.
func (h *dirHandle) Releasedir(context.Context, uint32) {
	if h.told.byName {
		h.n.d.fold()
	}
	if h.keep {
		h.n.list.closed()
		return
	}
	h.n.list.dropped(h.drop)
}

// dots are the entries that every directory begins with.
var dots = [...]string{".", ".."}

func (h *dirHandle) Readdirent(context.Context) (*fuse.DirEntry, syscall.Errno) {
	at := h.next
	if at == 0 {
		h.looked = 0
		if !h.keep {
			h.n.list.dropped(h.drop)
		}
	}
	h.need()
	if at >= len(dots)+len(h.entries) {
		if h.keep && h.looked >= len(h.entries) {
			h.n.list.wasWhole()
		}
		return nil, 0
	}
	h.next++
	out := &h.out
	out.Off = uint64(h.next) //nolint:gosec // an index
	if at < len(dots) {
		out.Name, out.Mode, out.Ino = dots[at], fuse.S_IFDIR, h.n.d.ino
		return out, 0
	}
	e := h.entries[at-len(dots)]
	h.last = e
	out.Name = e.name
	if e.dir != nil {
		out.Mode, out.Ino = fuse.S_IFDIR, e.dir.ino
	} else {
		out.Mode, out.Ino = fuse.S_IFREG, h.n.d.inoOf(e)
	}
	return out, 0
}

// Lookup answers READDIRPLUS from the listing, without a request. Its errors tell the kernel
// nothing but that there is no more than a name.
func (h *dirHandle) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	e := h.last
	if h.told.byName && e != nil && e.dir == nil && e.name == name {
		return nil, syscall.ENODATA
	}
	if e == nil || e.name != name || h.n.d.get(name) != e {
		return h.n.Lookup(ctx, name, out) // moved since the listing
	}
	h.n.d.fs.kernel.fillEntry(h.n.d, e, out)
	h.looked++
	return h.n.nodeOf(ctx, e), 0
}

// need sees to it that the entries are there.
func (h *dirHandle) need() {
	if h.entries == nil {
		h.entries = h.n.d.entries()
	}
}

func (h *dirHandle) Seekdir(_ context.Context, off uint64) syscall.Errno {
	h.need()
	if off > uint64(len(dots)+len(h.entries)) {
		return syscall.EINVAL
	}
	h.next = int(off) //nolint:gosec // at most the length of a slice
	return 0
}

func (h *dirHandle) Fsyncdir(context.Context, uint32) syscall.Errno { return 0 }
