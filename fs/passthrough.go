package fs

import (
	"os"
	"sync"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// A large document that is complete in the cache is read by the kernel itself, from the
// cached file (FUSE passthrough: Linux 6.9, CAP_SYS_ADMIN). Where that does not work it is
// read through us like any other.
//
// The kernel answers EIO to an open unless all handles of an inode are read in the same way,
// from the same file, and the library counts them by inode, too. So an inode comes to be
// read by the kernel only with its very first handle, and is so as long as its handles read
// that one file. One that was read through us, as while it was downloaded, stays so; when
// nobody has it open any more another inode takes its place (supersede). What can be written
// is always read through us.

// minDirect is from which length in bytes on that gains more than it costs at the open.
const minDirect = 1 << 20

// way is how the handles of an inode are read.
type way uint8

const (
	undecided way = iota // it was never open
	throughUs
	byKernel
)

// backer has the kernel accept a file to read from, as *fuse.Server does.
type backer interface {
	RegisterBackingFd(*fuse.BackingMap) (int32, syscall.Errno)
	UnregisterBackingFd(id int32) syscall.Errno
}

// passthrough knows whether the kernel reads files of the cache. The zero value says no.
type passthrough struct {
	mu     sync.Mutex
	server backer // nil: nobody to ask; guarded by mu
	asked  bool   // guarded by mu
	works  bool   // guarded by mu
}

// begin lets the kernel be asked, once.
func (p *passthrough) begin(server backer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
}

// reads reports whether the kernel reads file itself. What it says of the first file holds
// for all: they lie in one directory.
func (p *passthrough) reads(file *os.File) bool {
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

// direct reports whether the kernel could read r by itself for a handle that is being
// opened.
func (f *readable) direct(r *cache.Reader, a access) bool {
	if a.write || r.Size() < minDirect || !f.immutable(r.Key().Representation) {
		return false
	}
	file := r.Growing()
	return file != nil && f.fs.passthrough.reads(file) && r.File() != nil
}

// wayLocked decides how the first handle of those that are open reads r, which the kernel
// could read if direct says so. false means that another file is to take the place of this
// one. The caller holds mu.
func (f *readable) wayLocked(r *cache.Reader, direct bool) bool {
	direct = direct && f.handles == 0
	switch {
	case direct && f.way == throughUs && f.superseded == nil && f.up == nil && f.dir != nil:
		return false
	case direct && f.way == undecided, direct && f.way == byKernel && f.content == r.Serial():
		f.way = byKernel
	default:
		f.way = throughUs
	}
	return true
}

// outlived reports whether the next to open the file, which the kernel could read by itself, gets
// another inode (wayLocked), so that nobody will use the pages of this one, and nobody has it
// open. Nobody can then open it before done is called.
func (f *readable) outlived() (done func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reading != nil || f.handles > 0 || f.opening > 0 || f.dropping != nil ||
		f.way != throughUs || f.superseded != nil || f.up != nil || f.dir == nil {
		return nil, false
	}
	dropping := make(chan struct{})
	f.dropping = dropping
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.dropping = nil
		close(dropping)
	}, true
}

// enterOpen begins to open the file, not while its pages are dropped, and leave ends that.
func (f *readable) enterOpen() (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.dropping != nil {
		dropping := f.dropping
		f.mu.Unlock()
		<-dropping
		f.mu.Lock()
	}
	f.opening++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.opening--
	}
}

// dropPages has the kernel give back what it has of a file that nobody uses any more (outlived),
// in the background: else the next to open the file would wait for that. It returns at once. The
// kernel waits for pages that are being read, and so for us: nobody may have the file open.
func (n *fileNode) dropPages() {
	fs := n.f.fs
	done, ok := n.f.outlived()
	if !ok {
		return
	}
	fs.work.Go(func() {
		defer done()
		if errno := n.NotifyContent(0, 0); errno != 0 && errno != syscall.ENOENT {
			fs.log.Debugf("notify %s: %v", archive.Printable(n.f.path()), errno)
		}
	})
}

// directHandle is a readHandle of which the kernel reads the file itself.
type directHandle struct{ *readHandle }

var _ = fusefs.FilePassthroughFder((*directHandle)(nil))

// PassthroughFd is the file to read from, which is open as long as the handle.
func (h *directHandle) PassthroughFd() (int, bool) { return int(h.view.File().Fd()), true }

// asKernelReads is h, or what tells the library that the kernel reads the file itself.
func (h *readHandle) asKernelReads() fusefs.FileHandle {
	if h.view.of.direct {
		return &directHandle{h}
	}
	return h
}
