package node

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/attrs"
	"github.com/archivefs/archivefs/fs/internal/callers"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/inode"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/pictures"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// dirNode is a directory as the kernel sees it.
type dirNode struct {
	fusefs.Inode
	k    *Kernel
	d    *tree.Dir
	list kernelList
}

// TopNode makes the node of the directory at which the mount begins.
func (k *Kernel) TopNode() fusefs.InodeEmbedder {
	top := k.Root.Tree.Top.Load()
	n := k.nodeOfDir(top)
	top.Node.Store(n.EmbeddedInode())
	return n
}

func (k *Kernel) nodeOfDir(d *tree.Dir) fusefs.InodeEmbedder {
	if k.Guard.Judge != nil {
		return &guardedDir{dirNode{d: d, k: k}}
	}
	return &dirNode{d: d, k: k}
}

// manyEntries is how many entries make a directory a large one: asking for the lengths of that many again
// would be felt.
const manyEntries = 1000

// dirHandle is an open directory. It shows one listing, fixed when it is read from its beginning.
type dirHandle struct {
	n       *dirNode
	entries []*tree.Entry // nil until the first read of a compacted directory
	listing *listing
	keep    bool // the kernel caches what it reads
	drop    drop // identifies the open that makes the kernel drop its cache
	next    int
	last    *tree.Entry
	begun   bool          // it has been read
	looked  int           // entries that were sent with attributes
	guessed bool          // with estimates among these
	many    bool          // it is large, or listed in a walk
	extra   bool          // the saved searches come behind the entries
	out     fuse.DirEntry // of last; the library copies it
	guard   *guardedDir   // looks up what has changed since the listing; nil if all see the same
}

// nodeOf returns the inode of an entry. A directory has one inode for its lifetime. The library finds
// a file's inode by number and generation as long as the kernel knows it.
func (n *dirNode) nodeOf(ctx context.Context, e *tree.Entry) *fusefs.Inode {
	if e.Dir != nil {
		return n.attach(ctx, e.Dir)
	}
	f := staging.FileOf(n.d, e)
	return n.NewInode(ctx, &fileNode{f: f, k: n.k}, fusefs.StableAttr{Mode: fuse.S_IFREG, Ino: f.Ino, Gen: f.Generation()})
}

// attach returns the inode of the directory. The first call makes it, below n.
func (n *dirNode) attach(ctx context.Context, d *tree.Dir) *fusefs.Inode {
	d.Attached.Do(func() {
		d.Node.Store(n.NewInode(ctx, n.k.nodeOfDir(d), fusefs.StableAttr{Mode: fuse.S_IFDIR, Ino: d.Ino, Gen: d.Gen}))
	})
	return inodeOf(d)
}

func (n *dirNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	d := n.d
	if len(name) > names.Max {
		return nil, syscall.ENAMETOOLONG
	}
	if tree.IsTop(d) && name == tree.ControlName {
		return n.k.showControl(ctx, &n.Inode, n.k.Control.Root(), out)
	}
	if tree.IsTop(d) && name == tree.SearchesName {
		searches := n.k.Control.Searches()
		if searches == nil {
			return nil, syscall.ENOENT // with no timeout: it comes with the first search
		}
		return n.k.showControl(ctx, &n.Inode, searches, out)
	}
	if c, ok := n.k.Announcements.heralded(ctx, d, name); ok {
		return n.heraldedLookup(ctx, c, out)
	}
	content.Walked{Dir: d, Env: n.k.Contents}.LookingUp(ctx, name)
	e, err := d.Tree.Lookup(ctx, d, name)
	if err != nil {
		errno := n.k.Errnos.Of("lookup", d.PathOf(name), err)
		if errno == syscall.ENOENT {
			out.SetEntryTimeout(n.k.lendAbsence(d, name))
		}
		return nil, errno
	}
	if e.Dir == nil {
		content.Walked{Dir: d, Env: n.k.Contents}.Looked()
	}
	n.k.Watch.Used(d)
	n.k.fillEntry(d, e, out)
	if n.k.Windows.Shown(e.Name) != name {
		out.SetEntryTimeout(0) // a second name goes with the entry, or when another entry takes it
	}
	return n.nodeOf(ctx, e), 0
}

func (n *dirNode) Getattr(_ context.Context, _ fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.k.fillDir(n.d, &out.Attr)
	out.SetTimeout(n.k.validFor(n.d))
	return 0
}

// Setattr accepts times, owners and modes but ignores them, so that cp -a and rsync succeed.
func (n *dirNode) Setattr(_ context.Context, _ fusefs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if err := n.k.Staging.MayChange(); err != nil {
		return errno.Of(err)
	}
	n.k.fillDir(n.d, &out.Attr)
	return 0
}

func (n *dirNode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	return n.k.statfs(out)
}

var (
	_ = fusefs.FileReaddirenter((*dirHandle)(nil))
	_ = fusefs.FileLookuper((*dirHandle)(nil))
	_ = fusefs.FileSeekdirer((*dirHandle)(nil))
	_ = fusefs.FileFsyncdirer((*dirHandle)(nil))
	_ = fusefs.FileReleasedirer((*dirHandle)(nil))
)

// OpendirHandle lists the directory, from the service unless a fresh listing is known. A directory
// that cannot be listed is an error, never an empty listing.
func (n *dirNode) OpendirHandle(ctx context.Context, _ uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	walks, pid, walked := n.k.Walks, callerPID(ctx), content.Walked{Dir: n.d, Env: n.k.Contents}
	defer walks.Opened(pid)
	walk := walks.Opening(ctx, pid, walked.Line())
	if err := n.d.Tree.Load(ctx, n.d, tree.NeedListing); err != nil {
		return nil, 0, n.k.Errnos.Of("list", n.d.Path(), err)
	}
	byName := walked.ByName(walk)
	if !byName {
		n.k.Reps.Settle(ctx) // lengths depend on it
	}
	h := &dirHandle{n: n, extra: tree.IsTop(n.d) && n.k.Control.Searches() != nil}
	h.listing, h.entries = listingOf(n.d, byName)
	h.listing.searches, h.many = h.extra, walk != nil || len(h.entries) > manyEntries
	if walk == nil {
		n.looked(ctx, h.entries)
	}
	if n.k.Askers.Trusts(pid) == 0 {
		n.k.forgetEstimates(n.d)
	}
	h.listing.estimates = n.d.Estimates.Runs()
	if h.keep, h.drop = n.list.opening(h.listing); h.keep {
		return h, fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE, 0
	}
	return h, 0, 0
}

// looked notes that a program looks at the directory by itself, not in a walk: it is watched, and a file
// manager of the user gets thumbnails.
func (n *dirNode) looked(ctx context.Context, entries []*tree.Entry) {
	n.k.Watch.Looked(n.d)
	caller, ok := fuse.FromContext(ctx)
	if !n.k.Pictures.Wants() || !ok || int(caller.Uid) != os.Geteuid() || callers.Of(caller.Pid) != callers.FileManager {
		return
	}
	var docs []pictures.Document
	for _, e := range entries {
		if len(docs) == pictures.Most {
			break
		}
		if e.Dir != nil || e.Doc.Load() == nil {
			continue
		}
		if f := staging.FileOf(n.d, e); f.Pending() == nil {
			modified, _ := f.Times()
			docs = append(docs, pictures.Document{ID: f.Document().ID, Path: filepath.Join(n.k.Top, tree.FromTop(n.d.Tree, n.d.PathOf(e.Name))), Modified: modified})
		}
	}
	n.k.Pictures.Show(docs, func(names []string) { n.k.Announce(n.d, names, true) })
}

// Releasedir closes the handle. It compacts a directory that a walk listed by name only.
func (h *dirHandle) Releasedir(context.Context, uint32) {
	if h.listing.byName {
		h.n.d.Compact()
	}
	if h.keep {
		h.n.list.closed()
		return
	}
	h.n.list.dropped(h.drop)
}

// dots are the first entries of every directory.
var dots = [...]string{".", ".."}

// renew makes the handle show what the directory has by now. SMB servers keep directories open, and read
// them from the beginning, as rewinddir(3), when a client refreshes its window.
func (h *dirHandle) renew(ctx context.Context) syscall.Errno {
	d, again := h.n.d, h.begun
	if again {
		if err := d.Tree.Load(ctx, d, tree.NeedListing); err != nil {
			return h.n.k.Errnos.Of("list", d.Path(), err)
		}
	}
	h.begun = true
	d.Mu.Lock()
	same := d.Shown.Version == h.listing.version
	d.Mu.Unlock()
	if same && (h.guard == nil || !again) {
		return 0
	}
	h.listing, h.entries = listingOf(d, h.listing.byName)
	h.listing.searches = h.extra
	if h.guard == nil {
		return 0
	}
	return h.guard.filter(ctx, h)
}

func (h *dirHandle) Readdirent(ctx context.Context) (*fuse.DirEntry, syscall.Errno) {
	at := h.next
	if at == 0 {
		if errno := h.renew(ctx); errno != 0 {
			return nil, errno
		}
		h.looked = 0
		if !h.keep {
			h.n.list.dropped(h.drop)
		}
	}
	h.need()
	if at == len(dots)+len(h.entries) && h.extra {
		h.next, h.last = h.next+1, nil
		h.out = fuse.DirEntry{Off: uint64(h.next), Name: tree.SearchesName, Mode: fuse.S_IFDIR, Ino: inode.Searches} //nolint:gosec // an index
		return &h.out, 0
	}
	if at >= len(dots)+len(h.entries) {
		if h.keep && h.looked >= len(h.entries) {
			h.n.list.wasWhole(h.guessed)
		}
		return nil, 0
	}
	h.next++
	out := &h.out
	out.Off = uint64(h.next) //nolint:gosec // an index
	if at < len(dots) {
		out.Name, out.Mode, out.Ino = dots[at], fuse.S_IFDIR, h.n.d.Ino
		return out, 0
	}
	e := h.entries[at-len(dots)]
	h.last = e
	out.Name = h.n.d.Tree.Windows.Shown(e.Name)
	if e.Dir != nil {
		out.Mode, out.Ino = fuse.S_IFDIR, e.Dir.Ino
	} else {
		out.Mode, out.Ino = fuse.S_IFREG, h.n.d.InoOf(e)
	}
	return out, 0
}

// Lookup answers READDIRPLUS from the listing, without a request. After an error the kernel gets the
// name without attributes.
func (h *dirHandle) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	e := h.last
	known := e != nil && h.n.d.Tree.Windows.Shown(e.Name) == name
	if h.listing.byName && known && e.Dir == nil {
		return nil, syscall.ENODATA
	}
	if !known || h.n.d.Get(e.Name) != e {
		if h.guard != nil {
			return h.guard.Lookup(ctx, name, out)
		}
		return h.n.Lookup(ctx, name, out) // changed since the listing
	}
	h.n.k.fillEntry(h.n.d, e, out)
	h.looked++
	if e.Dir == nil && out.Blocks == 0 && out.Size > 0 { // an estimate
		h.guessed = true
		out.SetAttrTimeout(h.lendEstimate(callerPID(ctx), staging.FileOf(h.n.d, e)))
	}
	return h.n.nodeOf(ctx, e), 0
}

// lendEstimate returns for how long the thread that reads the directory may trust the estimate of a length.
// All estimates of a directory expire together.
func (h *dirHandle) lendEstimate(thread uint32, f *staging.File) time.Duration {
	k, d := h.n.k, h.n.d
	trust := k.Askers.Trusts(thread)
	if trust == 0 || !h.many {
		return 0
	}
	if !d.Estimates.Runs() {
		d.Estimates.Extend(min(k.validFor(d), f.EstimateTrust(), trust))
	}
	return d.Estimates.Left()
}

// need expands the entries of a compacted directory.
func (h *dirHandle) need() {
	if h.entries == nil {
		h.entries = h.n.d.Entries()
	}
}

func (h *dirHandle) Seekdir(_ context.Context, off uint64) syscall.Errno {
	h.need()
	if off > uint64(len(dots)+len(h.entries)+1) {
		return syscall.EINVAL
	}
	h.next = int(off) //nolint:gosec // at most the length of a slice
	return 0
}

func (h *dirHandle) Fsyncdir(context.Context, uint32) syscall.Errno { return 0 }

// keepNew is the attribute timeout of a file that was just created: programs stat it once more before
// they write. Each write invalidates the attributes.
const keepNew = time.Second

// Create makes a file in the spool and opens it.
func (n *dirNode) Create(ctx context.Context, name string, flags uint32, mode uint32, out *fuse.EntryOut) (*fusefs.Inode, fusefs.FileHandle, uint32, syscall.Errno) {
	name = n.k.Windows.Meant(name)
	e, h, err := n.k.Files.CreateOpen(context.WithoutCancel(ctx), n.d, name, accessOf(ctx, flags), n.d.Tree.Working.Created(name, flags, mode))
	if err != nil {
		return nil, nil, 0, n.k.Errnos.Of("create", n.d.PathOf(name), err)
	}
	n.k.fillEntry(n.d, e, out)
	if e.Doc.Load() == nil {
		out.SetAttrTimeout(keepNew)
	}
	return n.nodeOf(ctx, e), n.k.opened(ctx, h), 0, 0
}

// errNoLinks refuses links and special files.
var errNoLinks = errno.Refuse(syscall.EPERM, "an archive holds folders and documents, no links and no special files")

// Mknod makes a regular file without opening it, as tar does for a file with extended attributes.
func (n *dirNode) Mknod(ctx context.Context, name string, mode, _ uint32, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	if mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil, n.k.Errnos.Of("mknod", n.d.PathOf(name), errNoLinks)
	}
	if c, ok := n.k.Announcements.heralded(ctx, n.d, name); ok {
		return n.heraldedNew(ctx, c, fuse.S_IFREG, out)
	}
	name = n.k.Windows.Meant(name)
	e, h, err := n.k.Files.CreateOpen(context.WithoutCancel(ctx), n.d, name, accessOf(ctx, syscall.O_WRONLY), n.d.Tree.Working.File(name))
	if err != nil {
		return nil, n.k.Errnos.Of("mknod", n.d.PathOf(name), err)
	}
	h.Leave(ctx)
	n.k.fillEntry(n.d, e, out)
	return n.nodeOf(ctx, e), 0
}

func (n *dirNode) Link(_ context.Context, _ fusefs.InodeEmbedder, name string, _ *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, n.k.Errnos.Of("link", n.d.PathOf(name), errNoLinks)
}

func (n *dirNode) Symlink(_ context.Context, _, name string, _ *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, n.k.Errnos.Of("symlink", n.d.PathOf(name), errNoLinks)
}

// Mkdir creates a folder at the service, or a local directory for a junk name.
func (n *dirNode) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	d := n.d
	if c, ok := n.k.Announcements.heralded(ctx, d, name); ok {
		return n.heraldedNew(ctx, c, fuse.S_IFDIR, out)
	}
	name = n.k.Windows.Meant(name)
	var e *tree.Entry
	errno := n.k.changeNames(ctx, func(ctx context.Context) syscall.Errno {
		var err error
		e, err = n.k.Files.Folders.Mkdir(ctx, d, name)
		return n.k.Errnos.Of("mkdir", d.PathOf(name), err)
	}, placed{d, name})
	if errno != 0 {
		return nil, errno
	}
	n.k.fillEntry(d, e, out)
	return n.nodeOf(ctx, e), 0
}

// Unlink removes a file that was never archived or, where allowed, an inbox document.
func (n *dirNode) Unlink(ctx context.Context, name string) syscall.Errno {
	d := n.d
	if c, ok := n.k.Announcements.heralded(ctx, d, name); ok {
		return n.heraldedRemoval(c)
	}
	return n.k.changeNames(ctx, func(ctx context.Context) syscall.Errno {
		return n.k.Errnos.Of("remove", d.PathOf(name), n.k.Files.Unlink(ctx, d, name))
	}, placed{d, name})
}

// Rmdir removes a directory that exists only on this machine.
func (n *dirNode) Rmdir(ctx context.Context, name string) syscall.Errno {
	d := n.d
	if c, ok := n.k.Announcements.heralded(ctx, d, name); ok {
		return n.heraldedRemoval(c)
	}
	return n.k.changeNames(ctx, func(ctx context.Context) syscall.Errno {
		return n.k.Errnos.Of("rmdir", d.PathOf(name), n.k.Files.Folders.Rmdir(ctx, d, name))
	}, placed{d, name})
}

// Rename archives an inbox document, renames a document in its folder, or renames a local file, which
// may archive it. Everything else fails with EPERM: on EXDEV mv would copy and leave two documents, and
// its message for EINVAL is nonsense.
func (n *dirNode) Rename(ctx context.Context, name string, newParent fusefs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	d := n.d
	if into, ok := newParent.(*controlDir); ok && into.dir.Keyword != "" {
		return n.addKeyword(ctx, name, into.dir, newName)
	}
	to := dirOf(newParent)
	if to == nil {
		return n.k.Errnos.Of("rename", d.PathOf(name), errno.Refuse(syscall.EPERM, "nothing can be put into "+tree.ControlName+" or "+tree.SearchesName))
	}
	newName = n.k.Windows.Meant(newName)
	d.Lease.ExtendTo(&to.d.Lease)
	errno := n.k.changeNames(ctx, func(ctx context.Context) syscall.Errno {
		return n.k.Errnos.Of("rename", d.PathOf(name), n.k.Files.Rename(ctx, d, name, to.d, newName, flags))
	}, placed{d, name}, placed{to.d, newName})
	switch errno {
	case syscall.EINVAL, syscall.ENOTSUP, syscall.EXDEV:
		return syscall.EPERM
	}
	return errno
}

// addKeyword gives the document of a name the keyword of a directory, to which it was moved. The kernel
// takes the document for moved until it looks up either name again, which finds the document in its folder,
// and a link to it in the directory.
func (n *dirNode) addKeyword(ctx context.Context, name string, into *control.Dir, newName string) syscall.Errno {
	d := n.d
	return n.k.changeNames(ctx, func(ctx context.Context) syscall.Errno {
		err := n.k.Staging.MayChange()
		var e *tree.Entry
		if err == nil {
			e, err = d.Tree.Lookup(ctx, d, name)
		}
		switch {
		case err != nil:
		case e.Dir != nil:
			err = errno.Refuse(syscall.EPERM, "only documents have keywords")
		case newName != name:
			err = errno.Refuse(syscall.EPERM, "a document that is given a keyword keeps its name")
		default:
			err = staging.AddKeyword(ctx, staging.FileOf(d, e), into.Keyword)
		}
		if err == nil {
			n.k.Control.KeywordAdded()
			n.k.Epochs.Begin()
		}
		return n.k.Errnos.Of("give the keyword "+archive.Printable(into.Keyword), d.PathOf(name), err)
	}, placed{d, name})
}

func (n *dirNode) Getxattr(ctx context.Context, name string, dest []byte) (uint32, syscall.Errno) {
	return n.k.getAttr(ctx, staging.DirAttrs(n.k.Staging, n.d), n.k.Guard.sees(ctx, n.d), n.d.Path, name, dest)
}

func (n *dirNode) Listxattr(ctx context.Context, dest []byte) (uint32, syscall.Errno) {
	return n.k.listAttrs(ctx, staging.DirAttrs(n.k.Staging, n.d), n.k.Guard.sees(ctx, n.d), n.d.Path, dest)
}

// Setxattr sets what is kept on this machine and holds for all users.
func (n *dirNode) Setxattr(ctx context.Context, name string, value []byte, flags uint32) syscall.Errno {
	return n.k.changeAttr("setxattr", n.d.Path(), n.k.Guard.owns(ctx), func() error {
		return attrs.Set(ctx, staging.DirAttrs(n.k.Staging, n.d), name, value, int(flags))
	})
}

func (n *dirNode) Removexattr(ctx context.Context, name string) syscall.Errno {
	return n.k.changeAttr("removexattr", n.d.Path(), n.k.Guard.owns(ctx), func() error {
		return attrs.Remove(ctx, staging.DirAttrs(n.k.Staging, n.d), name)
	})
}
