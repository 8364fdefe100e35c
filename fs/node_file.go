package fs

import (
	"context"
	"errors"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/internal/spool"
)

// fileNode is a file as the kernel sees it.
type fileNode struct {
	fusefs.Inode
	f *file
}

func (n *fileNode) Getattr(ctx context.Context, _ fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if d, _ := n.f.place(); d != nil {
		walked{d}.looked()
	}
	n.f.learnSize(ctx)
	out.SetTimeout(n.f.fs.kernel.fill(n.f, &out.Attr))
	return 0
}

// Setattr truncates and keeps times; modes and owners are accepted without effect.
func (n *fileNode) Setattr(ctx context.Context, through fusefs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	f := n.f
	if err := f.fs.mayChange(); err != nil {
		return errno.Of(err)
	}
	if size, ok := in.GetSize(); ok {
		h, _ := through.(*writeHandle)
		if errno := f.fs.files.resize(ctx, f, h, int64(size)); errno != 0 { //nolint:gosec // the kernel bounds it
			return errno
		}
	}
	if mtime, ok := in.GetMTime(); ok {
		if up := f.pending(); up != nil {
			if err := up.Update(func(r *spool.Record) { r.Mtime = mtime }); err != nil {
				return f.fs.errnos.Of("set time", f.path(), err)
			}
		} else if _, here := f.fs.opts.State.Time(f.document().ID); here {
			f.fs.opts.State.SetTime(f.document().ID, mtime)
		}
	}
	out.SetTimeout(f.fs.kernel.fill(f, &out.Attr))
	return 0
}

// resize truncates the file, through h where there is a handle: a killed caller's goes no further,
// as its close tells.
func (c *fileChanges) resize(ctx context.Context, f *file, h *writeHandle, size int64) syscall.Errno {
	set := func(ctx context.Context) syscall.Errno {
		return c.fs.errnos.Of("truncate", f.path(), c.setSize(ctx, f, h, size))
	}
	if h != nil {
		return set(ctx)
	}
	return c.fs.kernel.outlive(ctx, set, nil)
}

// setSize truncates the file, through h where there is a handle. When nobody has it open for
// writing (truncate(2)), no close will follow: then its new bytes are archived at once.
func (c *fileChanges) setSize(ctx context.Context, f *file, h *writeHandle, size int64) error {
	if err := f.mayWrite(); err != nil {
		return err
	}
	defer f.doubtPages()
	if h != nil {
		return f.truncate(ctx, h, size)
	}
	open := &writeHandle{file: f, writer: true}
	if err := f.enterHandle(open); err != nil {
		return err
	}
	err := f.truncate(ctx, nil, size)
	switch lastWriter := f.leaveHandle(open); {
	case !lastWriter:
	case err == nil:
		err = c.fs.delivery.finish(ctx, f, false)
	default:
		f.untouched(ctx)
	}
	return err
}

// Open opens a document for reading, or an inbox document or a file in the spool for
// writing as well.
func (n *fileNode) Open(ctx context.Context, flags uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	f, a := n.f, accessOf(ctx, flags)
	defer f.enterOpen()()
	if a.write {
		if err := f.mayWrite(); err != nil {
			return nil, 0, f.fs.errnos.Of("open", f.path(), err)
		}
	}
	var v *docReader
	if f.pending() == nil {
		if !a.write && f.onlyForThumbnail(ctx) {
			return nil, 0, f.fs.errnos.Of("open", "", errThumbnail) // without a path: said once for a whole folder
		}
		if h := f.openLater(a); h != nil {
			n.correct(h.size)
			return h, openFlags(false), 0
		}
		var same bool
		var err error
		if v, same, err = n.openView(ctx, a); err != nil {
			return nil, 0, f.fs.errnos.Of("open", f.path(), err)
		}
		if !a.write {
			h := &readHandle{file: f, node: n, view: v}
			h.read.Store(same) // or so it may be: from the kernel's pages
			f.fs.handles.add(h)
			return h.asKernelReads(), openFlags(same), 0
		}
	}
	h, err := f.openWrite(ctx, a, v)
	if err != nil {
		return nil, 0, f.fs.errnos.Of("open", f.path(), errors.Join(err, v.Close()))
	}
	return h, 0, 0
}

// openView opens the document's content, unless all of it is about to be replaced, and
// corrects the length that the kernel was told before: it reads no further.
func (n *fileNode) openView(ctx context.Context, a access) (v *docReader, same bool, err error) {
	f := n.f
	if a.truncate {
		_, err := f.openFormer(a)
		return nil, false, err
	}
	if !a.write {
		f.readNext(ctx)
	}
	if v, same, err = f.openView(ctx, a); err != nil {
		return nil, false, err
	}
	n.correct(v.Size())
	return v, same, nil
}

// correct has the kernel ask for the length of the file again if it was told another one.
func (n *fileNode) correct(size int64) {
	if !n.f.tell(size) {
		return
	}
	if errno := n.NotifyContent(attrsOnly, 0); errno != 0 && errno != syscall.ENOENT {
		n.f.fs.log.Debugf("notify %s: %v", archive.Printable(n.f.path()), errno)
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

// attrsOnly is the offset by which the kernel forgets a file's attributes and no pages. It
// takes no lock that the opener of the file holds.
const attrsOnly = -1

// mayWrite refuses to change what is archived.
func (f *file) mayWrite() error {
	if err := f.fs.mayChange(); err != nil {
		return err
	}
	f.mu.Lock()
	kept := f.dir == nil && f.phase != removed // in the control directory
	f.mu.Unlock()
	switch {
	case f.as != nil:
		return errno.ErrNotHere
	case kept:
		return errno.Refuse(syscall.EPERM, "what is kept here does not change: it can be retried, exported or discarded")
	case f.archivedUnlisted():
		return errno.ErrArchived
	case f.pending() != nil:
		return nil
	case f.archived():
		return errno.ErrArchived
	case f.fs.service.Archive.LacksReplace():
		return errno.ErrNoReplace
	}
	return nil
}

// callerPID is the thread that made a request, 0 when it is of another pid namespace.
func callerPID(ctx context.Context) uint32 {
	if caller, ok := fuse.FromContext(ctx); ok {
		return caller.Pid
	}
	return 0
}

func (n *fileNode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	return n.f.fs.statfs(out)
}
