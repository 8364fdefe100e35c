package disk

import (
	"context"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mkdir implements fs.NodeMkdirer.
func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	ino, errno := n.disk.make(n.ino, name, true, mode)
	if errno != 0 {
		return nil, errno
	}
	return n.child(ctx, ino, &out.Attr), 0
}

// Create implements fs.NodeCreater.
func (n *node) Create(ctx context.Context, name string, _ uint32, mode uint32, out *fuse.EntryOut) (*fusefs.Inode, fusefs.FileHandle, uint32, syscall.Errno) {
	ino, errno := n.disk.make(n.ino, name, false, mode)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	return n.child(ctx, ino, &out.Attr), nil, fuse.FOPEN_KEEP_CACHE, 0
}

// Link implements fs.NodeLinker.
func (n *node) Link(ctx context.Context, target fusefs.InodeEmbedder, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	to, ok := target.(*node)
	if !ok {
		return nil, syscall.EXDEV
	}
	if errno := n.disk.link(n.ino, name, to.ino); errno != 0 {
		return nil, errno
	}
	return n.child(ctx, to.ino, &out.Attr), 0
}

// Unlink implements fs.NodeUnlinker.
func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	return n.disk.remove(n.ino, name, false)
}

// Rmdir implements fs.NodeRmdirer.
func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	return n.disk.remove(n.ino, name, true)
}

// Rename implements fs.NodeRenamer. Exchanging names is not supported.
func (n *node) Rename(_ context.Context, name string, parent fusefs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	to, ok := parent.(*node)
	if !ok || flags != 0 {
		return syscall.EINVAL
	}
	return n.disk.rename(n.ino, name, to.ino, newName)
}

// Open implements fs.NodeOpener.
func (n *node) Open(_ context.Context, flags uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_TRUNC != 0 {
		if errno := n.disk.truncate(n.ino, 0); errno != 0 {
			return nil, 0, errno
		}
	}
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

// Read implements fs.NodeReader.
func (n *node) Read(_ context.Context, _ fusefs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	count, errno := n.disk.read(n.ino, dest, off)
	return fuse.ReadResultData(dest[:count]), errno
}

// Write implements fs.NodeWriter.
func (n *node) Write(_ context.Context, _ fusefs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	if errno := n.disk.write(n.ino, data, off); errno != 0 {
		return 0, errno
	}
	return uint32(len(data)), 0 //nolint:gosec // the kernel bounds it
}

// Fsync implements fs.NodeFsyncer, of files and of directories.
func (n *node) Fsync(context.Context, fusefs.FileHandle, uint32) syscall.Errno {
	if n.ino.dir {
		return n.disk.syncDir(n.ino)
	}
	return n.disk.sync(n.ino)
}
