// Package node translates between FUSE and the model: nodes (dirNode, fileNode, renditionNode and those of
// .archivefs) and handles (dirHandle, readHandle, laterHandle, writeHandle). They share Kernel, which decides
// what the kernel may cache, and for how long.
package node

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/inode"
	"github.com/archivefs/archivefs/fs/internal/rights"
	"github.com/archivefs/archivefs/fs/internal/staging"
)

// directHandle is a readHandle whose file the kernel reads itself.
type directHandle struct{ *readHandle }

// readHandle reads a document. It never writes.
type readHandle struct {
	file *staging.File
	node *fileNode
	view *content.Reader
	read atomic.Bool // some of it may have been read
}

// Some programs open a document and close it unread: Dolphin and KDE's file dialogs do so with every
// document of a folder that they show. After the first one, documents of that folder are downloaded by
// the first read instead of the open, until one of them is read.

// laterHandle reads an archived document that the first read downloads.
type laterHandle struct {
	*writeHandle       // never written to
	size         int64 // the length that the kernel has
}

var _ = fusefs.FilePassthroughFder((*directHandle)(nil))

// PassthroughFd returns the file to read from. It stays open as long as the handle.
func (h *directHandle) PassthroughFd() (int, bool) { return int(h.view.File().Fd()), true }

// asKernelReads returns h, wrapped in a directHandle if the kernel reads the file itself.
func (h *readHandle) asKernelReads() fusefs.FileHandle {
	if h.view.Of.Direct {
		return &directHandle{h}
	}
	return h
}

var (
	_ = fusefs.FileReader((*readHandle)(nil))
	_ = fusefs.FileFlusher((*readHandle)(nil))
	_ = fusefs.FileReleaser((*readHandle)(nil))
	_ = fusefs.FileLseeker((*readHandle)(nil))
	_ = fusefs.FileFsyncer((*readHandle)(nil))
)

func (h *readHandle) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	h.read.Store(true)
	res, err := readContent(ctx, h.view.Reader, dest, off)
	return res, h.file.ReadErrno(err)
}

// readContent reads from a complete file without copying. It never promises more bytes than the file
// has: for a shorter answer the library would repeat the read.
func readContent(ctx context.Context, r *cache.Reader, dest []byte, off int64) (fuse.ReadResult, error) {
	if file := r.File(); file != nil {
		n := min(int64(len(dest)), max(r.Size()-off, 0))
		return fuse.ReadResultFd(file.Fd(), off, int(n)), nil
	}
	n, err := r.ReadAt(ctx, dest, off)
	if err != nil && err != io.EOF { //nolint:errorlint // io.ReaderAt returns io.EOF itself
		return nil, err
	}
	return fuse.ReadResultVector([][]byte{dest[:n]}), nil // written at once, without a pipe
}

func (h *readHandle) Lseek(_ context.Context, off uint64, whence uint32) (uint64, syscall.Errno) {
	return lseek(h.view.Size(), off, whence)
}

// lseek answers SEEK_DATA and SEEK_HOLE for a file without holes (lseek(2)).
func lseek(size int64, off uint64, whence uint32) (uint64, syscall.Errno) {
	const seekData, seekHole = 3, 4
	end := uint64(max(size, 0))
	switch {
	case whence != seekData && whence != seekHole:
		return 0, syscall.EINVAL
	case off >= end:
		return 0, syscall.ENXIO
	case whence == seekData:
		return off, 0
	}
	return end, 0
}

func (h *readHandle) Flush(context.Context) syscall.Errno         { return 0 }
func (h *readHandle) Fsync(context.Context, uint32) syscall.Errno { return 0 }

func (h *readHandle) Release(context.Context) syscall.Errno {
	if d, _ := h.file.Place(); d != nil && !h.read.Load() && !h.view.Of.Direct && h.view.Size() > 0 {
		d.Unread.Store(true)
		h.node.k.ReadAhead.Stop(content.Walked{Dir: d, Env: h.node.k.Contents})
	}
	h.node.k.Handles.remove(h)
	direct := h.file.Direct(h.view.Reader, content.Access{})
	if err := h.view.Close(); err != nil {
		h.node.k.Service.Log.Debugf("close cached content: %v", err)
	}
	if direct {
		h.node.dropPages()
	}
	return 0
}

var _ = fusefs.FileReader((*laterHandle)(nil))

func (h *laterHandle) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if d, _ := h.File.Place(); d != nil {
		d.Unread.Store(false)
	}
	r, err := h.ContentReader(ctx)
	if err == nil && r.Size() != h.size {
		// The kernel would read only part of it, or past its end. The next open knows the length.
		err = fmt.Errorf("the document has %d bytes, but was reported to have %d; open it again", r.Size(), h.size)
	}
	if err != nil {
		return nil, h.File.ReadErrno(err)
	}
	return h.writeHandle.Read(ctx, dest, off)
}

// passthrough finds out whether the kernel can read cached files itself. The zero value says no.
type passthrough struct {
	mu sync.Mutex
	// server is nil before Begin.
	server Backer // +checklocks:mu
	asked  bool   // +checklocks:mu
	works  bool   // +checklocks:mu
}

// Backer registers backing files with the kernel, as *fuse.Server does.
type Backer interface {
	RegisterBackingFd(*fuse.BackingMap) (int32, syscall.Errno)
	UnregisterBackingFd(id int32) syscall.Errno
}

// Begin sets the server with which Reads tries the kernel once.
func (p *passthrough) Begin(server Backer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
}

// Refuse makes Reads return false without trying.
func (p *passthrough) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked, p.works = true, false
}

// Reads reports whether the kernel can read file itself. The answer for the first file holds for all,
// because they lie in one directory.
func (p *passthrough) Reads(file *os.File) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil || p.asked {
		return p.works
	}
	p.asked = true
	id, errno := p.server.RegisterBackingFd(&fuse.BackingMap{Fd: int32(file.Fd())}) //nolint:gosec // a descriptor
	p.works = errno == 0 && p.server.UnregisterBackingFd(id) == 0
	return p.works
}

// Rendition returns the file that holds a rendition. It is the one that the kernel knows at the path,
// if that holds the same rendition and has not been superseded; otherwise a new one.
func (k *Kernel) Rendition(as control.Rendition, doc *archive.Document) *staging.File {
	in := inodeOf(k.Root.Tree.Top.Load())
	for name := range strings.SplitSeq(as.Path, "/") {
		if in != nil {
			in = in.GetChild(name)
		}
	}
	if in != nil {
		if n, ok := in.Operations().(*renditionNode); ok && *n.f.As == as && !n.f.GaveWay() {
			n.f.SetDocument(doc)
			return n.f
		}
	}
	made := staging.NewFile(k.Staging, inode.OfPath(as.Path), nil, nil, doc, nil)
	made.As = &as
	return made
}

// renditionNode is a file that holds a rendition. It is read-only: documents are changed in their folders.
type renditionNode struct{ fileNode }

// Setattr accepts modes, owners and times without effect.
func (n *renditionNode) Setattr(_ context.Context, _ fusefs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if _, ok := in.GetSize(); ok {
		return n.k.Errnos.Of("truncate", n.f.Where(), errno.ErrNotHere)
	}
	out.SetTimeout(n.k.fill(n.f, &out.Attr))
	return 0
}

func (n *renditionNode) Setxattr(context.Context, string, []byte, uint32) syscall.Errno {
	return n.k.Errnos.Of("setxattr", n.f.Where(), errno.ErrNotHere)
}

func (n *renditionNode) Removexattr(context.Context, string) syscall.Errno {
	return n.k.Errnos.Of("removexattr", n.f.Where(), errno.ErrNotHere)
}

// writeHandle is a handle as the kernel sees it.
type writeHandle struct {
	*staging.Handle
	k *Kernel
	// by is who opened it; false: nobody knows.
	by    uint32
	known bool
}

// opened returns the handle that the kernel gets for h.
func (k *Kernel) opened(ctx context.Context, h *staging.Handle) *writeHandle {
	w := &writeHandle{Handle: h, k: k}
	w.by, w.known = Person(ctx)
	k.Handles.add(w)
	return w
}

// handles is the set of open handles. The kernel releases each after its last close, except those
// whose RELEASE is in flight at the unmount: ReleaseAll releases these.
type handles struct {
	mu   sync.Mutex
	open map[fusefs.FileReleaser]struct{} // +checklocks:mu
}

func (hs *handles) add(h fusefs.FileReleaser) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.open == nil {
		hs.open = map[fusefs.FileReleaser]struct{}{}
	}
	hs.open[h] = struct{}{}
}

func (hs *handles) remove(h fusefs.FileReleaser) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	delete(hs.open, h)
}

func (hs *handles) Count() int {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return len(hs.open)
}

// ReadByKernel reports whether the kernel reads the file of any open handle itself.
func (hs *handles) ReadByKernel() bool {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for h := range hs.open {
		if r, ok := h.(*readHandle); ok && r.view.Of.Direct {
			return true
		}
	}
	return false
}

// ReleaseAll releases the handles that the kernel did not. It is called after the mount has ended.
// Files that were still being written fail.
func (hs *handles) ReleaseAll(ctx context.Context) {
	hs.mu.Lock()
	left := make([]fusefs.FileReleaser, 0, len(hs.open))
	for h := range hs.open {
		left = append(left, h)
	}
	hs.mu.Unlock()
	for _, h := range left {
		if w, ok := h.(*writeHandle); ok {
			w.CutOff()
		}
	}
	for _, h := range left {
		_ = h.Release(ctx) // always succeeds
	}
}

var (
	_ = fusefs.FileReader((*writeHandle)(nil))
	_ = fusefs.FileWriter((*writeHandle)(nil))
	_ = fusefs.FileFlusher((*writeHandle)(nil))
	_ = fusefs.FileFsyncer((*writeHandle)(nil))
	_ = fusefs.FileReleaser((*writeHandle)(nil))
	_ = fusefs.FileLseeker((*writeHandle)(nil))
	_ = fusefs.FileAllocater((*writeHandle)(nil))
)

func accessOf(ctx context.Context, flags uint32) content.Access {
	truncate := flags&syscall.O_TRUNC != 0
	return content.Access{
		PID:   callerPID(ctx),
		Write: truncate || flags&syscall.O_ACCMODE != syscall.O_RDONLY, Truncate: truncate, Appends: flags&syscall.O_APPEND != 0,
		Maps: flags&syscall.O_ACCMODE == syscall.O_RDWR,
	}
}

func (h *writeHandle) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	n, err := h.WriteAt(ctx, data, off)
	if err != nil {
		return 0, h.k.Errnos.Of("write", h.File.Where(), err)
	}
	return uint32(n), 0 //nolint:gosec // at most len(data), which the kernel bounds
}

func (h *writeHandle) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if n, staged, err := h.ReadStaged(dest, off); staged {
		return fuse.ReadResultData(dest[:n]), h.File.ReadErrno(err)
	}
	r, err := h.ContentReader(ctx)
	if err != nil {
		return nil, h.File.ReadErrno(err)
	}
	res, err := readContent(ctx, r, dest, off)
	return res, h.File.ReadErrno(err)
}

func (h *writeHandle) Lseek(_ context.Context, off uint64, whence uint32) (uint64, syscall.Errno) {
	size, ok := h.File.CurrentSize()
	if !ok {
		return 0, syscall.EINVAL // cp then reads without seeking holes
	}
	return lseek(size, off, whence)
}

// Allocate sets the length that a program announces, and counts it against the room of the spool. It
// refuses everything else: programs then write, or do without.
func (h *writeHandle) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	now, known := h.File.CurrentSize()
	if mode != 0 || !known {
		return syscall.EOPNOTSUPP
	}
	end := int64(off + size) //nolint:gosec // the kernel bounds it
	if end <= now {
		return 0
	}
	return h.k.Errnos.Of("allocate", h.File.Where(), h.File.SetSize(ctx, h.Handle, end))
}

// Fsync makes the bytes durable on this machine. Only close archives them.
func (h *writeHandle) Fsync(context.Context, uint32) syscall.Errno {
	return h.k.Errnos.Of("fsync", h.File.Where(), h.Sync())
}

// Flush is called at every close of a descriptor of the handle. The last close of a written file
// archives it and returns the outcome.
func (h *writeHandle) Flush(ctx context.Context) syscall.Errno {
	ends, err := h.Closed(callerPID(ctx), &h.k.Mounts)
	if !ends {
		return closeErrno(err)
	}
	return h.k.outlive(ctx, func(ctx context.Context) syscall.Errno { return closeErrno(h.Finish(ctx)) }, nil)
}

// closeErrno returns the errno of a close, whose error was logged where it occurred. ENOTSUP, for
// what the service has no operation for, becomes EPERM.
func closeErrno(err error) syscall.Errno {
	errno := errno.Of(err)
	if errno == syscall.ENOTSUP {
		return syscall.EPERM
	}
	return errno
}

// Release ends the handle. The kernel does not say on whose behalf: on that of whoever opened it.
func (h *writeHandle) Release(ctx context.Context) syscall.Errno {
	if h.known {
		ctx = rights.As(ctx, h.by)
	}
	h.k.Handles.remove(h)
	h.Leave(ctx)
	return 0
}
