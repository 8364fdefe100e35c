package node

import (
	"context"
	"sync"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/rights"
	"github.com/archivefs/archivefs/fs/internal/staging"
)

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
