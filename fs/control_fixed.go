package fs

import (
	"context"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// fixedDir is a directory of the control tree: nothing can be made, renamed or removed in
// it. Its methods refuse, because a missing one would report success.
type fixedDir struct {
	fusefs.Inode
	fs  *FileSystem
	ino uint64
}

// fixed is what every directory of the control tree is.
type fixed interface {
	fusefs.InodeEmbedder
	fill(out *fuse.Attr)
	number() uint64
}

func (n *fixedDir) number() uint64 { return n.ino }

// below is a directory in this one.
func (n *fixedDir) below(ino uint64) fixedDir { return fixedDir{fs: n.fs, ino: ino} }

// show is the answer to a lookup that finds the directory d in this one.
func (n *fixedDir) show(ctx context.Context, d fixed, out *fuse.EntryOut) *fusefs.Inode {
	d.fill(&out.Attr)
	return n.NewInode(ctx, d, fusefs.StableAttr{Mode: fuse.S_IFDIR, Ino: d.number()})
}

func (n *fixedDir) fill(out *fuse.Attr) {
	out.Ino, out.Mode, out.Blksize = n.ino, fuse.S_IFDIR|0o555&^n.fs.opts.Umask, 4096
	n.fs.fillOwner(out)
	fillTime(out, n.fs.started)
}

func (n *fixedDir) Getattr(_ context.Context, _ fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.fill(&out.Attr)
	return 0
}

func (n *fixedDir) Setattr(context.Context, fusefs.FileHandle, *fuse.SetAttrIn, *fuse.AttrOut) syscall.Errno {
	return syscall.EPERM
}

func (n *fixedDir) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	return n.fs.statfs(out)
}

func (n *fixedDir) Create(context.Context, string, uint32, uint32, *fuse.EntryOut) (*fusefs.Inode, fusefs.FileHandle, uint32, syscall.Errno) {
	return nil, nil, 0, syscall.EPERM
}

func (n *fixedDir) Mkdir(context.Context, string, uint32, *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

func (n *fixedDir) Mknod(context.Context, string, uint32, uint32, *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

func (n *fixedDir) Link(context.Context, fusefs.InodeEmbedder, string, *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

func (n *fixedDir) Symlink(context.Context, string, string, *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

func (n *fixedDir) Unlink(context.Context, string) syscall.Errno { return syscall.EPERM }
func (n *fixedDir) Rmdir(context.Context, string) syscall.Errno  { return syscall.EPERM }

func (n *fixedDir) Rename(context.Context, string, fusefs.InodeEmbedder, string, uint32) syscall.Errno {
	return syscall.EPERM
}

func (n *fixedDir) Getxattr(context.Context, string, []byte) (uint32, syscall.Errno) {
	return 0, syscall.ENOTSUP
}

func (n *fixedDir) Setxattr(context.Context, string, []byte, uint32) syscall.Errno {
	return syscall.ENOTSUP
}

func (n *fixedDir) Removexattr(context.Context, string) syscall.Errno { return syscall.ENOTSUP }

func (n *fixedDir) Listxattr(context.Context, []byte) (uint32, syscall.Errno) { return 0, 0 }
