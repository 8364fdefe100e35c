package node

import (
	"bytes"
	"context"
	"errors"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/attrs"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/staging"
)

// fileNode is a file as the kernel sees it.
type fileNode struct {
	fusefs.Inode
	f *staging.File
	k *Kernel
}

func (n *fileNode) Getattr(ctx context.Context, _ fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if d, _ := n.f.Place(); d != nil {
		content.Walked{Dir: d, Env: n.k.Contents}.Looked()
	}
	n.f.LearnSize(ctx)
	out.SetTimeout(n.k.fill(n.f, &out.Attr))
	return 0
}

// Setattr truncates and keeps times; modes and owners are accepted without effect.
func (n *fileNode) Setattr(ctx context.Context, through fusefs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	f := n.f
	if err := n.k.Staging.MayChange(); err != nil {
		return errno.Of(err)
	}
	if size, ok := in.GetSize(); ok {
		if errno := n.resize(ctx, through, int64(size)); errno != 0 { //nolint:gosec // the kernel bounds it
			return errno
		}
	}
	if mtime, ok := in.GetMTime(); ok {
		if err := f.SetTime(mtime); err != nil {
			return n.k.Errnos.Of("set time", f.Where(), err)
		}
	}
	out.SetTimeout(n.k.fill(f, &out.Attr))
	return 0
}

// resize truncates the file, through a handle where there is one: a killed caller's goes no further,
// as its close tells.
func (n *fileNode) resize(ctx context.Context, through fusefs.FileHandle, size int64) syscall.Errno {
	var h *staging.Handle
	set := func(ctx context.Context) syscall.Errno {
		return n.k.Errnos.Of("truncate", n.f.Where(), n.f.SetSize(ctx, h, size))
	}
	if w, ok := through.(*writeHandle); ok {
		h = w.Handle
		return set(ctx)
	}
	return n.k.outlive(ctx, set, nil)
}

// Open opens a document for reading, or an inbox document or a file in the spool for
// writing as well.
func (n *fileNode) Open(ctx context.Context, flags uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	f, a := n.f, accessOf(ctx, flags)
	defer f.EnterOpen()()
	if a.Write {
		if err := f.MayWrite(); err != nil {
			return nil, 0, n.k.Errnos.Of("open", f.Where(), err)
		}
	}
	var v *content.Reader
	if f.Pending() == nil {
		if !a.Write && f.OnlyForThumbnail(a.PID) {
			return nil, 0, n.k.Errnos.Of("open", "", content.ErrThumbnail) // without a path: said once for a whole folder
		}
		if h, size := f.OpenLater(a); h != nil {
			n.correct(size)
			return &laterHandle{writeHandle: n.k.opened(h), size: size}, openFlags(false), 0
		}
		var same bool
		var err error
		if v, same, err = n.openView(ctx, a); err != nil {
			return nil, 0, n.k.Errnos.Of("open", f.Where(), err)
		}
		if !a.Write {
			h := &readHandle{file: f, node: n, view: v}
			h.read.Store(same) // or so it may be: from the kernel's pages
			n.k.Handles.add(h)
			return h.asKernelReads(), openFlags(same), 0
		}
	}
	h, err := f.OpenWrite(ctx, a, v)
	if err != nil {
		return nil, 0, n.k.Errnos.Of("open", f.Where(), errors.Join(err, v.Close()))
	}
	return n.k.opened(h), 0, 0
}

// openView opens the document's content, unless all of it is about to be replaced, and
// corrects the length that the kernel was told before: it reads no further.
func (n *fileNode) openView(ctx context.Context, a content.Access) (v *content.Reader, same bool, err error) {
	f := n.f
	if a.Truncate {
		_, err := f.OpenFormer(a)
		return nil, false, err
	}
	if !a.Write {
		f.ReadNext(a.PID)
	}
	if v, same, err = f.OpenView(ctx, a); err != nil {
		return nil, false, err
	}
	n.correct(v.Size())
	return v, same, nil
}

// correct has the kernel ask for the length of the file again if it was told another one.
func (n *fileNode) correct(size int64) {
	if !n.f.Tell(size) {
		return
	}
	if errno := n.NotifyContent(attrsOnly, 0); errno != 0 && errno != syscall.ENOENT {
		n.k.Service.Log.Debugf("notify %s: %v", archive.Printable(n.f.Where()), errno)
	}
}

// openFlags says that the kernel keeps its pages of a document when they are of the same
// content, and that the close of one that is only read is nothing to tell.
func openFlags(same bool) uint32 {
	if same {
		return fuse.FOPEN_NOFLUSH | fuse.FOPEN_KEEP_CACHE
	}
	return fuse.FOPEN_NOFLUSH
}

func (n *fileNode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	return n.k.statfs(out)
}

// The kernel forgets inodes when it needs their memory. What the mount keeps of a document for
// the sake of its inode goes then as well, and a folder of which no document is known to the
// kernel any more is folded.

var _ = fusefs.NodeOnForgetter((*fileNode)(nil))

// OnForget drops the model of an archived document that has nothing to itself.
func (n *fileNode) OnForget() {
	if d := n.k.forget(n.f); d != nil {
		n.k.forgotten.add(d)
	}
}

// Access answers access(2), which programs ask before they offer to change a document. What
// is archived is said to be read-only there, although its mode lets a copy of it be written:
// LibreOffice and editors open it so, in place of saying that somebody else has it open.
func (n *fileNode) Access(ctx context.Context, mask uint32) syscall.Errno {
	f := n.f
	if mask&unix.W_OK != 0 {
		if err := f.MayWrite(); err != nil {
			return errno.Of(err) // not logged: nothing was tried
		}
	}
	var attr fuse.Attr
	n.k.fill(f, &attr)
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

// A missing method would not fail: the library answers for it, often with success. So
// every operation of a node is here, also those that only refuse.

var (
	_ = fusefs.NodeLookuper((*dirNode)(nil))
	_ = fusefs.NodeGetattrer((*dirNode)(nil))
	_ = fusefs.NodeSetattrer((*dirNode)(nil))
	_ = fusefs.NodeOpendirHandler((*dirNode)(nil))
	_ = fusefs.NodeCreater((*dirNode)(nil))
	_ = fusefs.NodeMkdirer((*dirNode)(nil))
	_ = fusefs.NodeMknoder((*dirNode)(nil))
	_ = fusefs.NodeLinker((*dirNode)(nil))
	_ = fusefs.NodeSymlinker((*dirNode)(nil))
	_ = fusefs.NodeUnlinker((*dirNode)(nil))
	_ = fusefs.NodeRmdirer((*dirNode)(nil))
	_ = fusefs.NodeRenamer((*dirNode)(nil))
	_ = fusefs.NodeStatfser((*dirNode)(nil))
	_ = fusefs.NodeGetxattrer((*dirNode)(nil))
	_ = fusefs.NodeSetxattrer((*dirNode)(nil))
	_ = fusefs.NodeRemovexattrer((*dirNode)(nil))
	_ = fusefs.NodeListxattrer((*dirNode)(nil))

	_ = fusefs.NodeGetattrer((*fileNode)(nil))
	_ = fusefs.NodeSetattrer((*fileNode)(nil))
	_ = fusefs.NodeAccesser((*fileNode)(nil))
	_ = fusefs.NodeOpener((*fileNode)(nil))
	_ = fusefs.NodeStatfser((*fileNode)(nil))
	_ = fusefs.NodeGetxattrer((*fileNode)(nil))
	_ = fusefs.NodeSetxattrer((*fileNode)(nil))
	_ = fusefs.NodeRemovexattrer((*fileNode)(nil))
	_ = fusefs.NodeListxattrer((*fileNode)(nil))

	_ = fusefs.NodeSetattrer((*renditionNode)(nil))
	_ = fusefs.NodeSetxattrer((*renditionNode)(nil))
	_ = fusefs.NodeRemovexattrer((*renditionNode)(nil))
)

func (n *fileNode) Getxattr(ctx context.Context, name string, dest []byte) (uint32, syscall.Errno) {
	value, err := attrs.Get(ctx, n.f.Attrs(), name)
	if err != nil {
		return 0, n.k.Errnos.Of("getxattr", n.f.Where(), err)
	}
	return reply(dest, value)
}

func (n *fileNode) Setxattr(ctx context.Context, name string, value []byte, flags uint32) syscall.Errno {
	f := n.f
	value = bytes.Clone(value) // which is the library's
	return setErrno(n.k.outlive(ctx, func(ctx context.Context) syscall.Errno {
		err := n.k.Staging.MayChange()
		if err == nil {
			err = attrs.Set(ctx, f.Attrs(), name, value, int(flags))
		}
		return n.k.Errnos.Of("setxattr", f.Where(), err)
	}, nil))
}

func (n *fileNode) Removexattr(ctx context.Context, name string) syscall.Errno {
	f := n.f
	return n.k.outlive(ctx, func(ctx context.Context) syscall.Errno {
		err := n.k.Staging.MayChange()
		if err == nil {
			err = attrs.Remove(ctx, f.Attrs(), name)
		}
		return n.k.Errnos.Of("removexattr", f.Where(), err)
	}, nil)
}

func (n *fileNode) Listxattr(ctx context.Context, dest []byte) (uint32, syscall.Errno) {
	names, err := attrs.List(ctx, n.f.Attrs())
	if err != nil {
		return 0, n.k.Errnos.Of("listxattr", n.f.Where(), err)
	}
	return reply(dest, joined(names))
}

// dropPages has the kernel give back what it has of a file that nobody uses any more (outlived),
// in the background: else the next to open the file would wait for that. It returns at once. The
// kernel waits for pages that are being read, and so for us: nobody may have the file open.
func (n *fileNode) dropPages() {
	done, ok := n.f.Outlived()
	if !ok {
		return
	}
	n.k.Service.Work.Go(func() {
		defer done()
		if errno := n.NotifyContent(0, 0); errno != 0 && errno != syscall.ENOENT {
			n.k.Service.Log.Debugf("notify %s: %v", archive.Printable(n.f.Where()), errno)
		}
	})
}

// statfs tells how much may still be written: what the spool has room for. Programs look
// at it before they copy a file in.
func (k *Kernel) statfs(out *fuse.StatfsOut) syscall.Errno {
	const block = 4096
	free, err := k.Staging.Spool.Free()
	if err != nil {
		return k.Errnos.Of("statfs", "", err)
	}
	used, files := k.Staging.Spool.Usage()
	out.Bsize, out.Frsize, out.NameLen = block, block, names.Max
	out.Bfree = free / block
	out.Bavail = out.Bfree
	out.Blocks = out.Bfree + uint64(max(used, 0))/block + 1
	out.Files = uint64(max(files, 0)) + 1<<20
	out.Ffree = 1 << 20
	return 0
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

// setErrno is the errno of a failed setxattr. Linux makes ENOTSUP of EAGAIN there, which
// programs that copy attributes take for a file system without any and say nothing.
func setErrno(errno syscall.Errno) syscall.Errno {
	if errno == syscall.EAGAIN {
		return syscall.EBUSY
	}
	return errno
}
