package node

import (
	"context"
	"syscall"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// STATX is GETATTR with the time of birth (Linux 6.6). The kernel sends it if a program wants to know
// that time, once for as long as the attributes are valid. A single node without an answer would make
// it ask for none any more.

var (
	_ = fusefs.NodeStatxer((*dirNode)(nil))
	_ = fusefs.NodeStatxer((*fileNode)(nil))
	_ = fusefs.NodeStatxer((*controlNode)(nil))
)

// Bits of a mask (statx(2)).
const (
	statxBasic = 0x7ff // all that stat(2) has
	statxBirth = 0x800
)

// Statx returns the creation date of the document as the time of birth.
func (n *fileNode) Statx(ctx context.Context, h fusefs.FileHandle, _, _ uint32, out *fuse.StatxOut) syscall.Errno {
	var born time.Time
	if doc := n.f.Document(); doc != nil {
		born = doc.Created
	}
	return statx(ctx, n, h, born, out)
}

// Statx returns no time of birth: the service tells none of folders.
func (n *dirNode) Statx(ctx context.Context, h fusefs.FileHandle, _, _ uint32, out *fuse.StatxOut) syscall.Errno {
	return statx(ctx, n, h, time.Time{}, out)
}

// Statx returns no time of birth.
func (n *controlNode) Statx(ctx context.Context, h fusefs.FileHandle, _, _ uint32, out *fuse.StatxOut) syscall.Errno {
	return statx(ctx, n, h, time.Time{}, out)
}

// statx answers STATX with the attributes of a node, and the time of birth unless it is zero.
func statx(ctx context.Context, n fusefs.NodeGetattrer, h fusefs.FileHandle, born time.Time, out *fuse.StatxOut) syscall.Errno {
	var from fuse.AttrOut
	if errno := n.Getattr(ctx, h, &from); errno != 0 {
		return errno
	}
	a := &from.Attr
	out.SetTimeout(from.Timeout())
	out.Mask = statxBasic
	out.Ino, out.Mode, out.Nlink, out.Uid, out.Gid = a.Ino, uint16(a.Mode), a.Nlink, a.Uid, a.Gid //nolint:gosec // a mode has 16 bits
	out.Size, out.Blocks, out.Blksize = a.Size, a.Blocks, a.Blksize
	out.Atime = fuse.SxTime{Sec: a.Atime, Nsec: a.Atimensec}
	out.Mtime = fuse.SxTime{Sec: a.Mtime, Nsec: a.Mtimensec}
	out.Ctime = fuse.SxTime{Sec: a.Ctime, Nsec: a.Ctimensec}
	if !born.IsZero() {
		out.Mask |= statxBirth
		out.Btime = fuse.SxTime{Sec: uint64(born.Unix()), Nsec: uint32(born.Nanosecond())} //nolint:gosec // the kernel takes it as signed
	}
	return 0
}
