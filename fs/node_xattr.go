package fs

import (
	"bytes"
	"context"
	"syscall"

	"github.com/archivefs/archivefs/fs/internal/attrs"
)

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

func (n *fileNode) Getxattr(ctx context.Context, name string, dest []byte) (uint32, syscall.Errno) {
	value, err := attrs.Get(ctx, n.f.attrs(), name)
	if err != nil {
		return 0, n.f.fs.errnos.Of("getxattr", n.f.path(), err)
	}
	return reply(dest, value)
}

func (n *fileNode) Setxattr(ctx context.Context, name string, value []byte, flags uint32) syscall.Errno {
	f := n.f
	value = bytes.Clone(value) // which is the library's
	return setErrno(f.fs.kernel.outlive(ctx, func(ctx context.Context) syscall.Errno {
		err := f.fs.mayChange()
		if err == nil {
			err = attrs.Set(ctx, f.attrs(), name, value, int(flags))
		}
		return f.fs.errnos.Of("setxattr", f.path(), err)
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
	return f.fs.kernel.outlive(ctx, func(ctx context.Context) syscall.Errno {
		err := f.fs.mayChange()
		if err == nil {
			err = attrs.Remove(ctx, f.attrs(), name)
		}
		return f.fs.errnos.Of("removexattr", f.path(), err)
	}, nil)
}

func (n *fileNode) Listxattr(ctx context.Context, dest []byte) (uint32, syscall.Errno) {
	names, err := attrs.List(ctx, n.f.attrs())
	if err != nil {
		return 0, n.f.fs.errnos.Of("listxattr", n.f.path(), err)
	}
	return reply(dest, joined(names))
}

func (n *dirNode) Getxattr(ctx context.Context, name string, dest []byte) (uint32, syscall.Errno) {
	value, err := attrs.Get(ctx, dirAttrs{n.d}, name)
	if err != nil {
		return 0, n.d.fs.errnos.Of("getxattr", n.d.path(), err)
	}
	return reply(dest, value)
}

func (n *dirNode) Setxattr(ctx context.Context, name string, value []byte, flags uint32) syscall.Errno {
	err := n.d.fs.mayChange()
	if err == nil {
		err = attrs.Set(ctx, dirAttrs{n.d}, name, value, int(flags))
	}
	return n.d.fs.errnos.Of("setxattr", n.d.path(), err)
}

func (n *dirNode) Removexattr(ctx context.Context, name string) syscall.Errno {
	err := n.d.fs.mayChange()
	if err == nil {
		err = attrs.Remove(ctx, dirAttrs{n.d}, name)
	}
	return n.d.fs.errnos.Of("removexattr", n.d.path(), err)
}

func (n *dirNode) Listxattr(ctx context.Context, dest []byte) (uint32, syscall.Errno) {
	names, err := attrs.List(ctx, dirAttrs{n.d})
	if err != nil {
		return 0, n.d.fs.errnos.Of("listxattr", n.d.path(), err)
	}
	return reply(dest, joined(names))
}
