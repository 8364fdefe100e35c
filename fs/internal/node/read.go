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

func (h *readHandle) Flush(context.Context) syscall.Errno { return 0 }

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

// renditionNode is a file that holds a rendition. It is read-only: documents are changed in their
// folders.
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
