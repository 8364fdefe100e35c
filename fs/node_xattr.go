package fs

import (
	"bytes"
	"context"
	"errors"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/xattr"
)

// errNoAttr is the answer for an attribute that is not there (ENODATA on Linux).
const errNoAttr = fusefs.ENOATTR

// attrErr refuses what package xattr says is wrong with a name or a value. Names of other
// namespaces are not supported rather than absent, so that ls stops asking; and cp, which
// tries to set them, is told without a word in the log.
func attrErr(err error) error {
	switch {
	case errors.Is(err, xattr.ErrNamespace):
		return syscall.ENOTSUP
	case errors.Is(err, xattr.ErrUnknown), errors.Is(err, xattr.ErrForeign):
		return errno.Refuse(syscall.ENOTSUP, archive.Printable(err.Error()))
	case errors.Is(err, xattr.ErrValue):
		return errno.Refuse(syscall.EINVAL, archive.Printable(err.Error()))
	case errors.Is(err, xattr.ErrTooBig):
		return errno.Refuse(syscall.E2BIG, archive.Printable(err.Error()))
	}
	return err
}

// reply copies a value into the caller's buffer as getxattr(2) and listxattr(2) want it.
func reply(dest, value []byte) (uint32, syscall.Errno) {
	if len(value) > len(dest) {
		return uint32(len(value)), syscall.ERANGE //nolint:gosec // bounded by xattr.MaxValue
	}
	return uint32(copy(dest, value)), 0 //nolint:gosec // bounded by xattr.MaxValue
}

// joined is a list of names as listxattr(2) returns it.
func joined(names []string) []byte {
	var b []byte
	for _, n := range names {
		b = append(append(b, n...), 0)
	}
	return b
}

// admit checks a change of an attribute against what is there (setxattr(2) flags) and
// what the table allows. With ignore, the change is to succeed without effect.
func admit(a xattr.Attr, node xattr.Node, there bool, flags uint32) (ignore bool, err error) {
	switch a.On(node) {
	case xattr.None:
		return false, errno.Refuse(syscall.ENOTSUP, "there is no "+archive.Printable(a.Name())+" here")
	case xattr.ReadOnly:
		return false, errno.Refuse(syscall.EPERM, archive.Printable(a.Name())+" cannot be set")
	case xattr.Ignored:
		return true, nil
	case xattr.Writable:
	}
	return false, expected(there, flags)
}

// expected checks the flags of setxattr(2) against what is there.
func expected(there bool, flags uint32) error {
	switch {
	case flags&unix.XATTR_CREATE != 0 && there:
		return syscall.EEXIST
	case flags&unix.XATTR_REPLACE != 0 && !there:
		return errNoAttr
	}
	return nil
}

func (n *fileNode) Getxattr(ctx context.Context, name string, dest []byte) (uint32, syscall.Errno) {
	value, err := n.f.getAttr(ctx, name)
	if err != nil {
		return 0, n.f.fs.errnos.Of("getxattr", n.f.path(), err)
	}
	return reply(dest, value)
}

func (n *fileNode) Setxattr(ctx context.Context, name string, value []byte, flags uint32) syscall.Errno {
	f := n.f
	value = bytes.Clone(value) // which is the library's
	return setErrno(f.fs.outlive(ctx, func(ctx context.Context) syscall.Errno {
		return f.fs.errnos.Of("setxattr", f.path(), f.setAttr(ctx, name, value, flags))
	}, nil))
}

// setErrno is the errno of a failed setxattr. Linux makes ENOTSUP of EAGAIN there, which
// programs that copy attributes take for a file system without any and say nothing.
func setErrno(errno syscall.Errno) syscall.Errno {
	if errno == syscall.EAGAIN {
		return syscall.EBUSY
	}
	return errno
}

func (n *fileNode) Removexattr(ctx context.Context, name string) syscall.Errno {
	f := n.f
	return f.fs.outlive(ctx, func(ctx context.Context) syscall.Errno {
		return f.fs.errnos.Of("removexattr", f.path(), f.removeAttr(ctx, name))
	}, nil)
}

func (n *fileNode) Listxattr(ctx context.Context, dest []byte) (uint32, syscall.Errno) {
	names, err := n.f.listAttrs(ctx)
	if err != nil {
		return 0, n.f.fs.errnos.Of("listxattr", n.f.path(), err)
	}
	return reply(dest, joined(names))
}

func (n *dirNode) Getxattr(_ context.Context, name string, dest []byte) (uint32, syscall.Errno) {
	a, err := xattr.Parse(name)
	if err != nil {
		if errors.Is(err, xattr.ErrForeign) {
			return 0, errNoAttr
		}
		return 0, errno.Of(attrErr(err))
	}
	value, ok := xattr.Find(n.d.attrs(), a)
	if !ok {
		return 0, errNoAttr
	}
	return reply(dest, value)
}

func (n *dirNode) Setxattr(_ context.Context, name string, value []byte, flags uint32) syscall.Errno {
	return n.d.fs.errnos.Of("setxattr", n.d.path(), n.d.changeAttr(name, value, flags))
}

func (n *dirNode) Removexattr(_ context.Context, name string) syscall.Errno {
	return n.d.fs.errnos.Of("removexattr", n.d.path(), n.d.changeAttr(name, nil, unix.XATTR_REPLACE))
}

func (n *dirNode) Listxattr(_ context.Context, dest []byte) (uint32, syscall.Errno) {
	return reply(dest, joined(xattr.Names(n.d.attrs())))
}

// formatFlag is the value of a flag that is known.
func formatFlag(f archive.Flag) []byte { return xattr.FormatBool(f == archive.FlagTrue) }
