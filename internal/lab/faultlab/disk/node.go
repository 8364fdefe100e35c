package disk

import (
	"context"
	"syscall"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// node shows an inode by FUSE.
type node struct {
	fusefs.Inode
	disk *Disk
	ino  *inode
}

var (
	_ = fusefs.NodeLookuper((*node)(nil))
	_ = fusefs.NodeGetattrer((*node)(nil))
	_ = fusefs.NodeSetattrer((*node)(nil))
	_ = fusefs.NodeStatfser((*node)(nil))
	_ = fusefs.NodeReaddirer((*node)(nil))
	_ = fusefs.NodeMkdirer((*node)(nil))
	_ = fusefs.NodeCreater((*node)(nil))
	_ = fusefs.NodeLinker((*node)(nil))
	_ = fusefs.NodeUnlinker((*node)(nil))
	_ = fusefs.NodeRmdirer((*node)(nil))
	_ = fusefs.NodeRenamer((*node)(nil))
	_ = fusefs.NodeOpener((*node)(nil))
	_ = fusefs.NodeReader((*node)(nil))
	_ = fusefs.NodeWriter((*node)(nil))
	_ = fusefs.NodeFsyncer((*node)(nil))
)

// child returns the node of an inode below n.
func (n *node) child(ctx context.Context, ino *inode, out *fuse.Attr) *fusefs.Inode {
	a := n.disk.attr(ino)
	a.fill(out)
	mode := uint32(syscall.S_IFREG)
	if a.dir {
		mode = syscall.S_IFDIR
	}
	return n.NewInode(ctx, &node{disk: n.disk, ino: ino}, fusefs.StableAttr{Mode: mode, Ino: a.id})
}

func (a attr) fill(out *fuse.Attr) {
	out.Ino, out.Size, out.Mode = a.id, uint64(a.size), syscall.S_IFREG|a.perm //nolint:gosec // never negative
	if a.dir {
		out.Mode = syscall.S_IFDIR | a.perm
	}
	out.Blocks, out.Blksize, out.Nlink = (out.Size+511)/512, 4096, 1
	out.Owner = *fuse.CurrentOwner()
	out.SetTimes(nil, &a.mtime, &a.mtime)
}

// Lookup implements fs.NodeLookuper.
func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	ino, errno := n.disk.lookup(n.ino, name)
	if errno != 0 {
		return nil, errno
	}
	return n.child(ctx, ino, &out.Attr), 0
}

// Getattr implements fs.NodeGetattrer.
func (n *node) Getattr(_ context.Context, _ fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.disk.attr(n.ino).fill(&out.Attr)
	return 0
}

// Setattr implements fs.NodeSetattrer.
func (n *node) Setattr(_ context.Context, _ fusefs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		if errno := n.disk.truncate(n.ino, size); errno != 0 {
			return errno
		}
	}
	var perm *uint32
	var mtime *time.Time
	if mode, ok := in.GetMode(); ok {
		perm = &mode
	}
	if t, ok := in.GetMTime(); ok {
		mtime = &t
	}
	n.disk.describe(n.ino, perm, mtime)
	n.disk.attr(n.ino).fill(&out.Attr)
	return 0
}

// Statfs implements fs.NodeStatfser: there is room enough.
func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	out.Bsize, out.Frsize, out.NameLen = 4096, 4096, 255
	out.Blocks = 1 << 20
	out.Bfree, out.Bavail = out.Blocks, out.Blocks
	out.Files, out.Ffree = 1<<20, 1<<20
	return 0
}

// Readdir implements fs.NodeReaddirer.
func (n *node) Readdir(context.Context) (fusefs.DirStream, syscall.Errno) {
	var all []fuse.DirEntry
	for _, e := range n.disk.list(n.ino) {
		mode := uint32(syscall.S_IFREG)
		if e.dir {
			mode = syscall.S_IFDIR
		}
		all = append(all, fuse.DirEntry{Name: e.name, Ino: e.id, Mode: mode})
	}
	return fusefs.NewListDirStream(all), 0
}
