package node

import (
	"context"
	"errors"
	"syscall"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/inode"
	"github.com/archivefs/archivefs/fs/internal/rights"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// Where users see different parts of one mount (Guard.Judge), its nodes are guarded: each request is answered only if
// its user sees what it is about. Files and attributes ask for that in any mount. The kernel keeps no names then,
// because it would show them to everybody: it asks for each name of a path, on behalf of whoever uses the path. It
// keeps attributes and pages, which nobody gets who has not looked up the name, or opened the file, before.
//
// The service knows nothing of what is not archived yet: whoever sees its folder sees it, and nobody but
// the one who made it changes it.

// Guard applies to the tree what users may see.
type Guard struct {
	// Judge decides that; nil if all see the same.
	Judge *rights.Judge
}

// guardedDir is a directory of which each user sees a part.
type guardedDir struct{ dirNode }

// dirOf returns the directory of a node, nil if it stands for something else.
func dirOf(node fusefs.InodeEmbedder) *dirNode {
	switch n := node.(type) {
	case *dirNode:
		return n
	case *guardedDir:
		return &n.dirNode
	}
	return nil
}

// sees returns nil if the user of a request sees the directory, and all above it.
func (g Guard) sees(ctx context.Context, d *tree.Dir) error {
	_, everything, err := g.Judge.Everything(ctx)
	for ; !everything && err == nil && d.Kind() != tree.RootDir; d = d.Above() {
		parent := d.Above()
		switch {
		case parent == nil:
			return syscall.ENOENT // it is shown no more
		case d.IsLocal(), d.Kind() == tree.InboxesDir:
		case d.Kind() == tree.InboxDir:
			err = g.Judge.Inbox(ctx, d.ID())
		default:
			err = g.Judge.Folder(ctx, parent.ID(), d.ID())
		}
	}
	return err
}

// seesEntry returns nil if the user of a request, who sees d, sees an entry of it.
func (g Guard) seesEntry(ctx context.Context, d *tree.Dir, e *tree.Entry) error {
	if e.Dir != nil {
		return g.sees(ctx, e.Dir)
	}
	if doc := e.Doc.Load(); doc != nil {
		return g.Judge.Document(ctx, d.ID(), doc.ID)
	}
	return nil
}

// seesFile returns nil if the user of a request sees the file.
func (g Guard) seesFile(ctx context.Context, f *staging.File) error {
	if g.Judge == nil {
		return nil
	}
	d, _ := f.Place()
	if d == nil {
		return nil // whoever has it open still has it
	}
	if err := g.sees(ctx, d); err != nil {
		return err
	}
	if doc := f.Document(); doc != nil {
		return g.Judge.Document(ctx, d.ID(), doc.ID)
	}
	return nil
}

// seesName returns nil if the user of a request sees d, and what has a name in it. A name that d does not
// have is left to what follows.
func (g Guard) seesName(ctx context.Context, d *tree.Dir, name string) error {
	if err := g.sees(ctx, d); err != nil {
		return err
	}
	if tree.IsTop(d) && (name == tree.ControlName || name == tree.SearchesName) {
		return nil
	}
	e, err := d.Tree.Lookup(ctx, d, name)
	if err != nil {
		return nil //nolint:nilerr // what follows says so
	}
	return g.seesEntry(ctx, d, e)
}

// errHidden refuses a new name that a document or a folder has which its user does not see.
var errHidden = errno.Refuse(syscall.EEXIST, "the name is taken by something that you may not see")

// mayMake returns nil if the user of a request may make a name in d, as far as d shows something under it.
func (g Guard) mayMake(ctx context.Context, d *tree.Dir, name string) error {
	if err := g.sees(ctx, d); err != nil {
		return err
	}
	if err := g.seesName(ctx, d, name); errors.Is(err, syscall.ENOENT) {
		return errHidden
	} else if err != nil {
		return err
	}
	return nil
}

// errOthers refuses a change of what another user has made, and the archive does not have yet.
var errOthers = errno.Refuse(syscall.EACCES, "it belongs to another user until it is archived")

// mayChange returns nil unless another user has made an entry that waits to be archived.
func (g Guard) mayChange(ctx context.Context, e *tree.Entry) error {
	if e == nil {
		return nil
	}
	up := e.Upload()
	if up == nil {
		return nil
	}
	r := up.Record()
	if uid, known := r.Person(); known && !g.Judge.Own(ctx, uid) {
		return errOthers
	}
	return nil
}

// mayChangeFile returns nil if the user of a request sees the file, and no other has made it.
func (g Guard) mayChangeFile(ctx context.Context, f *staging.File) error {
	err := g.seesFile(ctx, f)
	if d, name := f.Place(); g.Judge != nil && err == nil && d != nil {
		err = g.mayChange(ctx, d.Reach(name))
	}
	return err
}

// mayChangeName returns nil if the user of a request may take away or replace what has a name in d.
func (g Guard) mayChangeName(ctx context.Context, d *tree.Dir, name string) error {
	if err := g.seesName(ctx, d, name); err != nil {
		return err
	}
	return g.mayChange(ctx, d.Reach(name))
}

// visible returns the entries of d that the user of a request sees.
func (g Guard) visible(ctx context.Context, d *tree.Dir, all []*tree.Entry) ([]*tree.Entry, error) {
	_, everything, err := g.Judge.Everything(ctx)
	if everything || err != nil {
		return all, err
	}
	var docs, folders []archive.ID
	for _, e := range all {
		if doc := e.Doc.Load(); doc != nil {
			docs = append(docs, doc.ID)
		} else if e.Dir != nil && !e.Dir.IsLocal() && e.Dir.Kind() != tree.InboxesDir {
			folders = append(folders, e.Dir.ID())
		}
	}
	anything := func(archive.ID) bool { return true }
	seesDoc, seesFolder := anything, anything
	if len(docs) > 0 {
		if seesDoc, err = g.Judge.Documents(ctx, d.ID(), docs); err != nil {
			return nil, err
		}
	}
	switch {
	case len(folders) == 0:
	case d.Kind() == tree.InboxesDir || d.Kind() == tree.InboxDir:
		seesFolder, err = g.Judge.Inboxes(ctx, folders)
	default:
		seesFolder, err = g.Judge.Folders(ctx, d.ID(), folders)
	}
	if err != nil {
		return nil, err
	}
	seen := []*tree.Entry{} // also if there are none: nil stands for all
	for _, e := range all {
		doc := e.Doc.Load()
		switch {
		case doc != nil && !seesDoc(doc.ID):
		case doc == nil && e.Dir != nil && !e.Dir.IsLocal() && e.Dir.Kind() != tree.InboxesDir && !seesFolder(e.Dir.ID()):
		default:
			seen = append(seen, e)
		}
	}
	return seen, nil
}

// allows is sees as the answer to a request.
func (n *guardedDir) allows(ctx context.Context, op string) syscall.Errno {
	return n.refusal(op, "", n.k.Guard.sees(ctx, n.d))
}

// refusal logs why a request is refused that is about a name in the directory, or about itself.
func (n *guardedDir) refusal(op, name string, err error) syscall.Errno {
	if err == nil {
		return 0
	}
	path := n.d.Path()
	if name != "" {
		path = n.d.PathOf(name)
	}
	return n.k.Errnos.Of(op, path, err)
}

func (n *guardedDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	if err := n.k.Guard.seesName(ctx, n.d, name); err != nil {
		return nil, n.refusal("lookup", name, err)
	}
	return n.dirNode.Lookup(ctx, name, out)
}

// Getattr implements fusefs.NodeGetattrer. The top has attributes for everybody.
func (n *guardedDir) Getattr(ctx context.Context, h fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if !tree.IsTop(n.d) {
		if errno := n.allows(ctx, "stat"); errno != 0 {
			return errno
		}
	}
	return n.dirNode.Getattr(ctx, h, out)
}

func (n *guardedDir) Statx(ctx context.Context, h fusefs.FileHandle, _, _ uint32, out *fuse.StatxOut) syscall.Errno {
	return statx(ctx, n, h, time.Time{}, out)
}

func (n *guardedDir) Setattr(ctx context.Context, h fusefs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if errno := n.allows(ctx, "change"); errno != 0 {
		return errno
	}
	return n.dirNode.Setattr(ctx, h, in, out)
}

// OpendirHandle implements fusefs.NodeOpendirHandler. The handle shows what its user sees, and the kernel
// keeps nothing of it.
func (n *guardedDir) OpendirHandle(ctx context.Context, flags uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	if errno := n.allows(ctx, "list"); errno != 0 {
		return nil, 0, errno
	}
	opened, _, no := n.dirNode.OpendirHandle(ctx, flags)
	h, ok := opened.(*dirHandle)
	if no != 0 || !ok {
		return nil, 0, no
	}
	if h.keep {
		h.keep = false
		n.list.closed()
	}
	h.guard = n
	if errno := n.filter(ctx, h); errno != 0 {
		return nil, 0, errno
	}
	return h, 0, 0
}

// filter leaves to a handle what the user of a request sees.
func (n *guardedDir) filter(ctx context.Context, h *dirHandle) syscall.Errno {
	h.need()
	entries, err := n.k.Guard.visible(ctx, n.d, h.entries)
	if err != nil {
		return n.refusal("list", "", err)
	}
	h.entries = entries
	return 0
}

func (n *guardedDir) Create(ctx context.Context, name string, flags uint32, mode uint32, out *fuse.EntryOut) (*fusefs.Inode, fusefs.FileHandle, uint32, syscall.Errno) {
	if err := n.k.Guard.mayMake(ctx, n.d, name); err != nil {
		return nil, nil, 0, n.refusal("create", name, err)
	}
	return n.dirNode.Create(ctx, name, flags, mode, out)
}

func (n *guardedDir) Mknod(ctx context.Context, name string, mode, dev uint32, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	if err := n.k.Guard.mayMake(ctx, n.d, name); err != nil {
		return nil, n.refusal("mknod", name, err)
	}
	return n.dirNode.Mknod(ctx, name, mode, dev, out)
}

func (n *guardedDir) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	if err := n.k.Guard.mayMake(ctx, n.d, name); err != nil {
		return nil, n.refusal("mkdir", name, err)
	}
	return n.dirNode.Mkdir(ctx, name, mode, out)
}

func (n *guardedDir) Unlink(ctx context.Context, name string) syscall.Errno {
	if err := n.k.Guard.mayChangeName(ctx, n.d, name); err != nil {
		return n.refusal("remove", name, err)
	}
	return n.dirNode.Unlink(ctx, name)
}

func (n *guardedDir) Rmdir(ctx context.Context, name string) syscall.Errno {
	if err := n.k.Guard.mayChangeName(ctx, n.d, name); err != nil {
		return n.refusal("rmdir", name, err)
	}
	return n.dirNode.Rmdir(ctx, name)
}

func (n *guardedDir) Rename(ctx context.Context, name string, newParent fusefs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	err := n.k.Guard.mayChangeName(ctx, n.d, name)
	if to := dirOf(newParent); err == nil && to != nil {
		if err = n.k.Guard.mayMake(ctx, to.d, newName); err == nil {
			err = n.k.Guard.mayChangeName(ctx, to.d, newName)
		}
	}
	if err != nil {
		return n.refusal("rename", name, err)
	}
	return n.dirNode.Rename(ctx, name, newParent, newName, flags)
}

// errOwnersOnly keeps from a user what is about all of them.
var errOwnersOnly = errno.Refuse(syscall.EACCES, "this is for the user whose mount it is: it is about all users")

// owns returns nil if the user of a request sees everything, as the one whose mount it is.
func (g Guard) owns(ctx context.Context) error {
	_, everything, err := g.Judge.Everything(ctx)
	if err == nil && !everything {
		err = errOwnersOnly
	}
	return err
}

// guardControl returns nil if the user of a request may look up a node of the control directory.
func (g Guard) guardControl(ctx context.Context, found control.Node) error {
	if found.Number() == inode.Uploads {
		return g.owns(ctx)
	}
	return nil
}
