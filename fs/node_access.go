package fs

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/fs/internal/errno"
)

// Access answers access(2), which programs ask before they offer to change a document. What
// is archived is said to be read-only there, although its mode lets a copy of it be written:
// LibreOffice and editors open it so, in place of saying that somebody else has it open.
func (n *fileNode) Access(ctx context.Context, mask uint32) syscall.Errno {
	f := n.f
	if mask&unix.W_OK != 0 {
		if err := f.mayWrite(); err != nil {
			return errno.Of(err) // not logged: nothing was tried
		}
	}
	var attr fuse.Attr
	f.fs.kernel.fill(f, &attr)
	if caller, ok := fuse.FromContext(ctx); ok && !permitted(caller, &attr, mask) {
		return syscall.EACCES
	}
	return 0
}

// permitted reports whether owner, group and mode of a file let somebody in.
func permitted(caller *fuse.Caller, attr *fuse.Attr, mask uint32) bool {
	switch {
	case caller.Uid == 0:
		return true
	case caller.Uid == attr.Uid:
		return attr.Mode>>6&mask == mask
	case caller.Gid == attr.Gid:
		return attr.Mode>>3&mask == mask
	}
	return attr.Mode&mask == mask
}
