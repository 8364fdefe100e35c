package fs

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/internal/closing"
	"github.com/archivefs/archivefs/internal/spool"
)

// writeHandle is an open file that may be written, or one whose bytes are in the spool, or
// (laterHandle) not here yet.
// All handles of a file share its bytes.
type writeHandle struct {
	file   *file
	opener int // the process that opened it, 0 when it cannot be told
	writer bool
	// maps says that the file can be written to through a mapping: it is open for reading, too.
	maps bool
	// appends says that every write goes to the end (O_APPEND), wherever the kernel, which
	// may know an estimate of the length or a former one, takes that to be.
	appends bool

	// writing says that it wrote and was not closed since, perhaps that it may have been, as far
	// as could be told; guarded by mu of the file.
	writing, perhaps bool

	mu     sync.Mutex
	reader *content.Reader // of the document, while nothing was written; guarded by mu
}

// handles are the open files that the kernel knows. It releases each after its last close,
// but not those whose RELEASE is on its way when it unmounts: these are released here.
type handles struct {
	mu   sync.Mutex
	open map[fusefs.FileReleaser]struct{} // guarded by mu
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

// releaseAll releases what the kernel has not, after the mount has ended: then nobody can use a
// file any more. What was not written to its end fails.
func (hs *handles) releaseAll(ctx context.Context) {
	hs.mu.Lock()
	left := make([]fusefs.FileReleaser, 0, len(hs.open))
	for h := range hs.open {
		left = append(left, h)
	}
	hs.mu.Unlock()
	for _, h := range left {
		if w, ok := h.(*writeHandle); ok {
			w.cutOff()
		}
	}
	for _, h := range left {
		_ = h.Release(ctx) // which always succeeds
	}
}

// accept makes what a close answers with success durable, although the end of the file is
// still to come: from here on it is not lost without a trace.
func (h *writeHandle) accept(up *spool.Upload) error {
	f := h.file
	if err := h.spoiled(); err != nil {
		return err
	}
	return f.accept(up)
}

// perhapsEnded notes a close of which cannot be told whether it was the handle's last.
func (h *writeHandle) perhapsEnded() {
	h.file.Mu.Lock()
	defer h.file.Mu.Unlock()
	h.perhaps = true
}

// errAborted is why a file fails that was being written when the kernel was parted from the mount.
var errAborted = errors.New("the mount was aborted while a program was writing it")

// cutOff fails a file that the handle was writing, after the connection to the kernel has ended:
// each program that ends a file by itself closes it before, which we are told.
func (h *writeHandle) cutOff() {
	f := h.file
	f.Mu.Lock()
	half := h.writing && !h.perhaps
	f.Mu.Unlock()
	if half {
		f.fs.delivery.abandon(f, errAborted.Error())
	}
}

// end ends the writing of the handle and reports whether nobody else writes: half of what
// others write is not to be archived. The bytes are accepted before it ends, so that no
// other close archives them while this one may still be told that it failed.
func (h *writeHandle) end(up *spool.Upload) (last bool, err error) {
	accepted := h.amongOthers()
	if accepted {
		err = h.accept(up)
	}
	others := h.ended()
	if others && !accepted { // one that has just begun
		err = h.accept(up)
	}
	return !others, err
}

// amongOthers reports whether other handles write to the file.
func (h *writeHandle) amongOthers() bool {
	f := h.file
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if h.writing {
		return f.writing > 1
	}
	return f.writing > 0
}

// ended notes that the program has closed the handle.
func (h *writeHandle) ended() (others bool) {
	f := h.file
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if h.writing {
		h.writing = false
		f.writing--
	}
	return f.writing > 0
}

// spoiled is why the bytes cannot be made durable any more, nil while they can: a disk that
// failed to write them forgets that it has them, and would answer the next sync with success.
func (h *writeHandle) spoiled() error {
	f := h.file
	f.Mu.Lock()
	err := f.spoiltLocked()
	f.Mu.Unlock()
	if err != nil {
		return err
	}
	return h.outcome()
}

// outcome is what a close is told when nothing is left to archive: an error when what the
// handle wrote failed with the close of another one.
func (h *writeHandle) outcome() error {
	f := h.file
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if h.writing && f.phase.ended() {
		return errFailed
	}
	return nil
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

// accessOf reads the flags of open(2).
func accessOf(ctx context.Context, flags uint32) content.Access {
	truncate := flags&syscall.O_TRUNC != 0
	return content.Access{
		PID:   callerPID(ctx),
		Write: truncate || flags&syscall.O_ACCMODE != syscall.O_RDONLY, Truncate: truncate, Appends: flags&syscall.O_APPEND != 0,
		Maps: flags&syscall.O_ACCMODE == syscall.O_RDWR,
	}
}

func (h *writeHandle) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	f := h.file
	var n int
	err := f.edit(ctx, h, false, func(up *spool.Upload) (err error) {
		f.DoubtPages()
		if h.appends {
			off = up.Size() // the kernel sends one write of an inode at a time
		}
		n, err = up.WriteAt(data, off)
		return err
	})
	if err != nil {
		return 0, f.fs.Errnos.Of("write", f.Where(), err)
	}
	return uint32(n), 0 //nolint:gosec // at most len(data), which the kernel bounds
}

func (h *writeHandle) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	f := h.file
	if up := f.Pending(); up != nil {
		n, err := up.ReadAt(dest, off)
		if err == nil || err == io.EOF { //nolint:errorlint // io.ReaderAt returns io.EOF itself
			return fuse.ReadResultData(dest[:n]), 0
		}
		if f.Pending() == up {
			return nil, f.ReadErrno(err)
		}
		// It was archived at this moment.
	}
	r, err := h.contentReader(ctx)
	if err != nil {
		return nil, f.ReadErrno(err)
	}
	res, err := readContent(ctx, r, dest, off)
	return res, f.ReadErrno(err)
}

// contentReader is what the handle reads of the document that nothing was written to, or
// whose bytes have been archived meanwhile.
func (h *writeHandle) contentReader(ctx context.Context) (*cache.Reader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reader == nil || !h.reader.Current() {
		if h.file.Document() == nil {
			return nil, syscall.EIO
		}
		v, err := h.file.OpenContent(ctx)
		if err != nil {
			return nil, err
		}
		v.Former = h.reader
		h.reader = v
	}
	return h.reader.Reader, nil
}

func (h *writeHandle) Lseek(_ context.Context, off uint64, whence uint32) (uint64, syscall.Errno) {
	size, ok := h.file.CurrentSize()
	if !ok {
		return 0, syscall.EINVAL // cp then reads without looking for holes
	}
	return lseek(size, off, whence)
}

// Allocate refuses to reserve space: programs fall back to writing.
func (h *writeHandle) Allocate(context.Context, uint64, uint64, uint32) syscall.Errno {
	return syscall.EOPNOTSUPP
}

// Fsync makes the bytes durable on this machine. That they are archived is close's word.
func (h *writeHandle) Fsync(context.Context, uint32) syscall.Errno {
	up := h.file.Pending()
	if up == nil {
		return 0
	}
	if err := h.spoiled(); err != nil {
		return h.file.fs.Errnos.Of("fsync", h.file.Where(), err)
	}
	if err := up.Sync(); err != nil {
		return h.file.fs.Errnos.Of("fsync", h.file.Where(), h.file.spoil(up, err))
	}
	return 0
}

// Flush is called at every close of a descriptor of the handle. The one that ends the
// writing archives the file and answers with the outcome.
func (h *writeHandle) Flush(ctx context.Context) syscall.Errno {
	f := h.file
	if !h.writer {
		return 0
	}
	up, todo := f.unfinished()
	if !todo {
		return closeErrno(h.outcome())
	}
	if f.fs.opts.Async {
		up.BeginSync()
	}
	switch closing.Examine(callerPID(ctx), h.opener, f.Ino, f.mappable(), &f.fs.mounts) {
	case closing.More:
		return 0
	case closing.Unknown: // the end shows at release
		err := h.accept(up)
		h.perhapsEnded()
		return closeErrno(err)
	case closing.Inherited:
		err := h.accept(up)
		h.ended() // until one of those writes
		return closeErrno(err)
	case closing.Killed:
		if _, writing := f.writtenBy(h); writing {
			f.fs.delivery.abandon(f, "the program that wrote it was killed before it had finished")
		}
		return 0
	case closing.Last:
	}
	last, err := h.end(up)
	if err != nil || !last {
		return closeErrno(err)
	}
	return f.fs.kernel.outlive(ctx, func(ctx context.Context) syscall.Errno { return closeErrno(f.fs.delivery.finish(ctx, f, false)) }, nil)
}

// closeErrno is what close answers; why was logged where it happened. What the service has
// no operation for is not permitted.
func closeErrno(err error) syscall.Errno {
	errno := errno.Of(err)
	if errno == syscall.ENOTSUP {
		return syscall.EPERM
	}
	return errno
}

// Release ends the handle. What no close could be told about is archived now.
func (h *writeHandle) Release(ctx context.Context) syscall.Errno {
	f := h.file
	f.fs.handles.remove(h)
	h.mu.Lock()
	if h.reader != nil {
		_ = h.reader.Close() // read only
		h.reader = nil
	}
	h.mu.Unlock()
	h.ended()
	if lastWriter := f.leaveHandle(h); lastWriter {
		f.fs.delivery.endWriting(detached(ctx), f)
	}
	return 0
}
