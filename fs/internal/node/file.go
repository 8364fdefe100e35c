package node

import (
	"bytes"
	"context"
	"errors"
	"syscall"
	"time"

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

// Getattr tells the attributes to whoever has the file open, because that was allowed by Open.
func (n *fileNode) Getattr(ctx context.Context, through fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if through == nil {
		if err := n.k.Guard.seesFile(ctx, n.f); err != nil {
			return n.k.Errnos.Of("stat", n.f.Where(), err)
		}
	}
	if d, _ := n.f.Place(); d != nil {
		content.Walked{Dir: d, Env: n.k.Contents}.Looked()
	}
	n.f.LearnSize(ctx)
	if _, known := n.f.CurrentSize(); !known && n.k.Askers.Exact(callerPID(ctx)) {
		n.f.Weigh(ctx, callerPID(ctx))
	}
	out.SetTimeout(n.k.fill(n.f, &out.Attr))
	return 0
}

// Setattr truncates and sets times. It accepts modes and owners but ignores them.
func (n *fileNode) Setattr(ctx context.Context, through fusefs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	f := n.f
	if err := n.k.Staging.MayChange(); err != nil {
		return errno.Of(err)
	}
	if through == nil {
		if err := n.k.Guard.mayChangeFile(ctx, f); err != nil {
			return n.k.Errnos.Of("change", f.Where(), err)
		}
	}
	if size, ok := in.GetSize(); ok {
		if errno := n.resize(ctx, through, int64(size)); errno != 0 { //nolint:gosec // the kernel bounds it
			return errno
		}
	}
	if mtime, ok := in.GetMTime(); ok {
		if err := f.SetTime(mtime, callerPID(ctx)); err != nil {
			return n.k.Errnos.Of("set time", f.Where(), err)
		}
	}
	out.SetTimeout(n.k.fill(f, &out.Attr))
	return 0
}

// resize truncates the file. Through a handle it runs with the caller's context; without one it outlives
// the caller, because no close follows.
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

// Open opens a document for reading. Inbox documents and files in the spool can be opened for writing, too.
func (n *fileNode) Open(ctx context.Context, flags uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	f, a := n.f, accessOf(ctx, flags)
	may := n.k.Guard.seesFile(ctx, f)
	if a.Write {
		may = n.k.Guard.mayChangeFile(ctx, f)
	}
	defer f.EnterOpen()()
	if a.Write && may == nil {
		may = f.MayWrite()
	}
	if may != nil {
		return nil, 0, n.k.Errnos.Of("open", f.Where(), may)
	}
	var v *content.Reader
	if f.Pending() == nil {
		if !a.Write {
			if err := f.Unattended(a.PID); err != nil {
				if errors.Is(err, content.ErrThumbnail) {
					n.k.Pictures.Await(ctx, f.Document().ID)
				}
				return nil, 0, n.k.Errnos.OfMany("open", f.Where(), err)
			}
			if !f.Listed() {
				n.k.Askers.Opened(a.PID)
				d, _ := f.Place()
				n.k.forgetEstimates(d)
			}
		}
		if h, size := f.OpenLater(a); h != nil {
			n.correct(size)
			return &laterHandle{writeHandle: n.k.opened(ctx, h), size: size}, openFlags(false), 0
		}
		var same bool
		var err error
		if v, same, err = n.openView(ctx, a); err != nil {
			return nil, 0, n.k.Errnos.Of("open", f.Where(), err)
		}
		if !a.Write {
			h := &readHandle{file: f, node: n, view: v}
			h.read.Store(same) // reads may be served from the page cache
			n.k.Handles.add(h)
			return h.asKernelReads(), openFlags(same), 0
		}
	}
	h, err := f.OpenWrite(ctx, a, v)
	if err != nil {
		return nil, 0, n.k.Errnos.Of("open", f.Where(), errors.Join(err, v.Close()))
	}
	return n.k.opened(ctx, h), 0, 0
}

// openView opens the document's content, unless the open truncates it, and corrects the length that
// the kernel has, beyond which it never reads.
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

// correct invalidates the attributes of the file if the kernel has another length.
func (n *fileNode) correct(size int64) {
	if n.f.Tell(size) {
		n.forgetAttributes()
	}
}

// forgetEstimate invalidates the attributes of the file unless the kernel has its exact length.
func (n *fileNode) forgetEstimate() {
	if size, exact := n.f.CurrentSize(); exact {
		n.correct(size)
	} else {
		n.forgetAttributes()
	}
}

// forgetAttributes invalidates the attributes of the file in the kernel.
func (n *fileNode) forgetAttributes() {
	if errno := n.NotifyContent(attrsOnly, 0); errno != 0 && errno != syscall.ENOENT {
		n.k.Service.Log.Debugf("notify %s: %v", archive.Printable(n.f.Where()), errno)
	}
}

// openFlags returns the flags of an open for reading: no FLUSH at close and, if the content is the same
// as before, the page cache is kept.
func openFlags(same bool) uint32 {
	if same {
		return fuse.FOPEN_NOFLUSH | fuse.FOPEN_KEEP_CACHE
	}
	return fuse.FOPEN_NOFLUSH
}

func (n *fileNode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	return n.k.statfs(out)
}

// The kernel forgets inodes when it needs their memory. The mount then drops its model of the document,
// and compacts the folder once the kernel knows none of its documents.

var _ = fusefs.NodeOnForgetter((*fileNode)(nil))

// OnForget drops the model of an idle archived document.
func (n *fileNode) OnForget() {
	if d := n.k.forget(n.f); d != nil {
		n.k.forgotten.add(d)
	}
}

// Access answers access(2), which programs call before they let users edit a document. It denies
// writing to an archived document, although the mode, which copies inherit, permits it: so LibreOffice
// and editors open the document read-only instead of reporting that somebody else has it open.
func (n *fileNode) Access(ctx context.Context, mask uint32) syscall.Errno {
	f := n.f
	if err := n.k.Guard.seesFile(ctx, f); err != nil {
		return n.k.Errnos.Of("access", f.Where(), err)
	}
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

// permitted reports whether owner, group and mode of a file permit the access in mask.
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

// The library answers for a missing method, often with success. So each node implements every
// operation, even to refuse it.

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
	return n.k.getAttr(ctx, staging.FileAttrs(n.f), n.k.Guard.seesFile(ctx, n.f), n.f.Where, name, dest)
}

func (n *fileNode) Listxattr(ctx context.Context, dest []byte) (uint32, syscall.Errno) {
	return n.k.listAttrs(ctx, staging.FileAttrs(n.f), n.k.Guard.seesFile(ctx, n.f), n.f.Where, dest)
}

func (n *fileNode) Setxattr(ctx context.Context, name string, value []byte, flags uint32) syscall.Errno {
	f, may := n.f, n.k.Guard.mayChangeFile(ctx, n.f)
	value = bytes.Clone(value) // the library owns it
	return setErrno(n.k.outlive(ctx, func(ctx context.Context) syscall.Errno {
		return n.k.changeAttr("setxattr", f.Where(), may, func() error { return attrs.Set(ctx, staging.FileAttrs(f), name, value, int(flags)) })
	}, nil))
}

func (n *fileNode) Removexattr(ctx context.Context, name string) syscall.Errno {
	f, may := n.f, n.k.Guard.mayChangeFile(ctx, n.f)
	return n.k.outlive(ctx, func(ctx context.Context) syscall.Errno {
		return n.k.changeAttr("removexattr", f.Where(), may, func() error { return attrs.Remove(ctx, staging.FileAttrs(f), name) })
	}, nil)
}

// getAttr answers GETXATTR. err, unless nil, says why the user may not ask.
func (k *Kernel) getAttr(ctx context.Context, of attrs.Node, err error, where func() string, name string, dest []byte) (uint32, syscall.Errno) {
	var value []byte
	if err == nil {
		value, err = attrs.Get(ctx, of, name)
	}
	if err != nil {
		return 0, k.Errnos.Of("getxattr", where(), err)
	}
	return reply(dest, value)
}

// listAttrs is getAttr for LISTXATTR.
func (k *Kernel) listAttrs(ctx context.Context, of attrs.Node, err error, where func() string, dest []byte) (uint32, syscall.Errno) {
	var names []string
	if err == nil {
		names, err = attrs.List(ctx, of)
	}
	if err != nil {
		return 0, k.Errnos.Of("listxattr", where(), err)
	}
	return reply(dest, joined(names))
}

// changeAttr changes an attribute. err, unless nil, says why the user may not.
func (k *Kernel) changeAttr(op, where string, err error, change func() error) syscall.Errno {
	if err == nil {
		err = k.Staging.MayChange()
	}
	if err == nil {
		err = change()
	}
	return k.Errnos.Of(op, where, err)
}

// dropPages invalidates the page cache of an outlived file (File.Outlived) in the background, so that the next open
// need not wait for it. The kernel waits for pages that are being read, and so for us: nobody may have the file open.
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

// statfs reports the space left in the spool. Programs check it before they copy a file in.
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

// reply copies a value into the caller's buffer, or fails with ERANGE (getxattr(2), listxattr(2)).
func reply(dest, value []byte) (uint32, syscall.Errno) {
	if len(value) > len(dest) {
		return uint32(len(value)), syscall.ERANGE //nolint:gosec // bounded by xattr.MaxValue
	}
	return uint32(copy(dest, value)), 0 //nolint:gosec // bounded by xattr.MaxValue
}

// joined encodes a list of names for listxattr(2).
func joined(names []string) []byte {
	var b []byte
	for _, n := range names {
		b = append(append(b, n...), 0)
	}
	return b
}

// setErrno returns the errno of a failed setxattr. Linux turns EAGAIN into ENOTSUP there, and programs
// that copy attributes silently ignore ENOTSUP.
func setErrno(errno syscall.Errno) syscall.Errno {
	if errno == syscall.EAGAIN {
		return syscall.EBUSY
	}
	return errno
}

// STATX is GETATTR with the time of birth (Linux 6.6). The kernel sends it if a program wants to know that time, once
// for as long as the attributes are valid. A single node without an answer would make it ask for none any more.

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
