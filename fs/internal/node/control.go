package node

import (
	"context"
	"errors"
	iofs "io/fs"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/staging"
)

// controlNode is a node of the control directory, which package control describes. Its methods refuse
// changes explicitly, because the library may report success for a missing one.
type controlNode struct {
	fusefs.Inode
	k  *Kernel
	of interface {
		Attr(ctx context.Context) (control.Attr, error)
	}
}

var (
	_ = fusefs.NodeGetattrer((*controlNode)(nil))
	_ = fusefs.NodeSetattrer((*controlNode)(nil))
	_ = fusefs.NodeStatfser((*controlNode)(nil))
	_ = fusefs.NodeGetxattrer((*controlNode)(nil))
	_ = fusefs.NodeSetxattrer((*controlNode)(nil))
	_ = fusefs.NodeRemovexattrer((*controlNode)(nil))
	_ = fusefs.NodeListxattrer((*controlNode)(nil))
	_ = fusefs.NodeLookuper((*controlDir)(nil))
	_ = fusefs.NodeReaddirer((*controlDir)(nil))
	_ = fusefs.NodeCreater((*controlDir)(nil))
	_ = fusefs.NodeMkdirer((*controlDir)(nil))
	_ = fusefs.NodeMknoder((*controlDir)(nil))
	_ = fusefs.NodeLinker((*controlDir)(nil))
	_ = fusefs.NodeSymlinker((*controlDir)(nil))
	_ = fusefs.NodeUnlinker((*controlDir)(nil))
	_ = fusefs.NodeRmdirer((*controlDir)(nil))
	_ = fusefs.NodeRenamer((*controlDir)(nil))
	_ = fusefs.NodeSetxattrer((*controlDir)(nil))
	_ = fusefs.NodeGetxattrer((*controlDir)(nil))
	_ = fusefs.NodeOpener((*controlFile)(nil))
	_ = fusefs.NodeReadlinker((*controlLink)(nil))
	_ = fusefs.FileReader(snapshot(nil))
	_ = fusefs.FileFlusher(snapshot(nil))
)

// showControl answers a lookup in the directory in with found, a node of the control directory.
func (k *Kernel) showControl(ctx context.Context, in *fusefs.Inode, found control.Node, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	if file, ok := found.(*staging.File); ok {
		out.SetAttrTimeout(k.fill(file, &out.Attr))
		return in.NewInode(ctx, k.shown(file), fusefs.StableAttr{Mode: fuse.S_IFREG, Ino: file.Ino, Gen: file.Generation()}), 0
	}
	var node interface {
		fusefs.InodeEmbedder
		fill(ctx context.Context, out *fuse.Attr) syscall.Errno
	}
	switch found := found.(type) {
	case *control.Dir:
		node = &controlDir{controlNode{k: k, of: found}, found}
	case *control.File:
		node = &controlFile{controlNode{k: k, of: found}, found}
	case *control.Link:
		node = &controlLink{controlNode{k: k, of: found}, found}
	}
	if errno := node.fill(ctx, &out.Attr); errno != 0 {
		return nil, errno
	}
	return in.NewInode(ctx, node, fusefs.StableAttr{Mode: out.Mode & syscall.S_IFMT, Ino: out.Ino}), 0
}

// shown returns the node of a file that package control shows.
func (k *Kernel) shown(f *staging.File) fusefs.InodeEmbedder {
	switch up := f.Pending(); {
	case f.As != nil:
		return &renditionNode{fileNode{f: f, k: k}}
	case up != nil && up.Record().Directory:
		return &folderUpload{fileNode{f: f, k: k}}
	}
	return &fileNode{f: f, k: k}
}

// controlErrno turns an error of package control into an errno. A PathError is logged.
func (k *Kernel) controlErrno(err error) syscall.Errno {
	if at, ok := errors.AsType[*iofs.PathError](err); ok {
		return k.Errnos.Of(at.Op, at.Path, at.Err)
	}
	return errno.Of(err)
}

func (n *controlNode) fill(ctx context.Context, out *fuse.Attr) syscall.Errno {
	a, err := n.of.Attr(ctx)
	if err != nil {
		return n.k.controlErrno(err)
	}
	out.Ino, out.Mode, out.Size, out.Blksize = a.Ino, a.Mode, uint64(max(a.Size, 0)), 4096
	if a.Mode&syscall.S_IFMT != syscall.S_IFLNK {
		out.Mode &^= n.k.Umask
	}
	n.k.fillOwner(out)
	if a.Time.IsZero() {
		a.Time = n.k.Started
	}
	out.SetTimes(&a.Time, &a.Time, &a.Time)
	return 0
}

func (n *controlNode) Getattr(ctx context.Context, _ fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return n.fill(ctx, &out.Attr)
}

func (n *controlNode) Setattr(context.Context, fusefs.FileHandle, *fuse.SetAttrIn, *fuse.AttrOut) syscall.Errno {
	return syscall.EPERM
}

func (n *controlNode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	return n.k.statfs(out)
}

func (n *controlNode) Getxattr(context.Context, string, []byte) (uint32, syscall.Errno) {
	return 0, syscall.ENOTSUP
}

func (n *controlNode) Setxattr(context.Context, string, []byte, uint32) syscall.Errno {
	return syscall.ENOTSUP
}

func (n *controlNode) Removexattr(context.Context, string) syscall.Errno { return syscall.ENOTSUP }

func (n *controlNode) Listxattr(context.Context, []byte) (uint32, syscall.Errno) { return 0, 0 }

type controlDir struct {
	controlNode
	dir *control.Dir
}

func (n *controlDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	found, err := n.dir.Lookup(ctx, n.k.Windows.Meant(name))
	if err == nil {
		err = n.k.Guard.guardControl(ctx, found)
	}
	if err != nil {
		return nil, n.k.controlErrno(err)
	}
	return n.k.showControl(ctx, &n.Inode, found, out)
}

func (n *controlDir) Readdir(ctx context.Context) (fusefs.DirStream, syscall.Errno) {
	var list []fuse.DirEntry
	if n.dir.List != nil {
		entries, err := n.dir.List(ctx)
		if err != nil {
			return nil, n.k.controlErrno(err)
		}
		for _, e := range entries {
			list = append(list, fuse.DirEntry{Name: n.k.Windows.Shown(e.Name), Mode: e.Mode, Ino: e.Ino})
		}
	}
	return fusefs.NewListDirStream(list), 0
}

func (n *controlDir) Create(_ context.Context, name string, _, _ uint32, _ *fuse.EntryOut) (*fusefs.Inode, fusefs.FileHandle, uint32, syscall.Errno) {
	if n.dir.Keyword == "" {
		return nil, nil, 0, syscall.EPERM
	}
	return nil, nil, 0, n.k.Errnos.Of("create", n.dir.Path+"/"+name,
		errno.Refuse(syscall.EPERM, "only a document of the archive can be given a keyword: move one of an inbox here, it stays there; put a new file into a folder first"))
}

func (n *controlDir) Mkdir(context.Context, string, uint32, *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

func (n *controlDir) Mknod(context.Context, string, uint32, uint32, *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

func (n *controlDir) Link(context.Context, fusefs.InodeEmbedder, string, *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

func (n *controlDir) Symlink(context.Context, string, string, *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

func (n *controlDir) Rmdir(context.Context, string) syscall.Errno { return syscall.EPERM }

func (n *controlDir) Rename(context.Context, string, fusefs.InodeEmbedder, string, uint32) syscall.Errno {
	return syscall.EPERM
}

func (n *controlDir) Unlink(_ context.Context, name string) syscall.Errno {
	if n.dir.Remove == nil {
		return syscall.EPERM
	}
	return n.k.controlErrno(n.dir.Remove(name))
}

func (n *controlDir) Setxattr(ctx context.Context, attr string, data []byte, _ uint32) syscall.Errno {
	if n.dir.SetAttr == nil {
		return syscall.ENOTSUP
	}
	if err := n.k.Guard.owns(ctx); err != nil {
		return n.k.controlErrno(err)
	}
	return n.k.controlErrno(n.dir.SetAttr(attr, data))
}

func (n *controlDir) Getxattr(ctx context.Context, attr string, dest []byte) (uint32, syscall.Errno) {
	if n.dir.GetAttr == nil {
		return 0, syscall.ENOTSUP
	}
	value, err := n.dir.GetAttr(ctx, attr)
	if err != nil {
		return 0, n.k.controlErrno(err)
	}
	return reply(dest, value)
}

// controlFile is a file. Each open takes a snapshot of its content.
type controlFile struct {
	controlNode
	file *control.File
}

func (n *controlFile) Open(ctx context.Context, flags uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return nil, 0, n.k.Errnos.Of("open", n.file.Path, errno.Refuse(syscall.EPERM, "it cannot be written"))
	}
	content, err := n.file.Content(ctx)
	if err != nil {
		return nil, 0, n.k.controlErrno(err)
	}
	return snapshot(content), fuse.FOPEN_DIRECT_IO, 0
}

type snapshot []byte

func (h snapshot) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if off >= int64(len(h)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(h[off:min(int64(len(h)), off+int64(len(dest)))]), 0
}

func (h snapshot) Flush(context.Context) syscall.Errno { return 0 }

type controlLink struct {
	controlNode
	link *control.Link
}

func (n *controlLink) Readlink(ctx context.Context) ([]byte, syscall.Errno) {
	target, err := n.link.Target(ctx)
	return []byte(target), n.k.controlErrno(err)
}

// folderUpload is a queued folder among the uploads, shown as an empty file.
type folderUpload struct{ fileNode }

// Open opens an empty file, so that all uploads can be copied out.
func (n *folderUpload) Open(ctx context.Context, flags uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	if accessOf(ctx, flags).Write {
		return n.fileNode.Open(ctx, flags) // refuses
	}
	return snapshot(nil), 0, 0
}
