package fs

import (
	"context"
	"fmt"
	"io"
	"sync"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/internal/spool"
)

// writeHandle is an open file that may be written, or one whose bytes are in the spool.
// All handles of a file share its bytes.
type writeHandle struct {
	file   *file
	opener int // the process that opened it, 0 when it cannot be told
	writer bool

	// writing says that it wrote and was not closed since; guarded by mu of the file.
	writing bool

	mu     sync.Mutex
	reader *cache.Reader // of the document, while nothing was written; guarded by mu
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

// openWrite opens the file for writing, or for reading while its bytes are in the spool.
// A document is not touched before the first write; with truncate it starts empty.
func (f *file) openWrite(ctx context.Context, pid uint32, writer, truncate bool) (*writeHandle, error) {
	h := &writeHandle{file: f, writer: writer}
	if writer {
		h.opener = threadGroup(pid)
	}
	if err := f.enterHandle(h); err != nil {
		return nil, err
	}
	if truncate {
		if err := f.truncate(ctx, 0); err != nil {
			f.leaveHandle(h)
			return nil, err
		}
	}
	return h, nil
}

// enterHandle counts an open handle, which holds the bytes in the spool open.
func (f *file) enterHandle(h *writeHandle) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.up != nil {
		if err := f.up.Open(); err != nil {
			return err
		}
	}
	f.handles++
	if h.writer {
		f.writers++
	}
	return nil
}

// leaveHandle undoes enterHandle and reports whether it was the last handle, and the last
// that might write.
func (f *file) leaveHandle(h *writeHandle) (last, lastWriter bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handles--
	if h.writer {
		f.writers--
		lastWriter = f.writers == 0
	}
	if f.up != nil {
		if err := f.up.Close(); err != nil {
			f.fs.log.Debugf("close spool file: %v", err)
		}
	}
	return f.handles == 0, lastWriter
}

// stage makes sure that the file's bytes are in the spool and may be changed. An inbox
// document's content is copied there first, unless empty says that nothing of it is
// wanted. An archived document cannot be staged.
func (f *file) stage(ctx context.Context, empty bool) (*spool.Upload, error) {
	f.mu.Lock()
	up, doc := f.up, f.doc
	f.mu.Unlock()
	if up != nil {
		return up, f.unseal(up)
	}
	if doc == nil || f.archived() {
		return nil, syscall.EPERM
	}
	f.commit.Lock()
	defer f.commit.Unlock()
	if up := f.pending(); up != nil { // staged meanwhile
		return up, f.unseal(up)
	}
	d, name := f.place()
	if d == nil {
		return nil, syscall.ENOENT
	}
	up, err := f.fs.spool.Create(f.fs.record(d, name, doc))
	if err != nil {
		return nil, err
	}
	if !empty {
		if err := f.copyContent(ctx, up); err != nil {
			f.fs.discard(up)
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for range f.handles {
		if err := up.Open(); err != nil {
			return nil, err
		}
	}
	f.up, f.lost = up, false
	return up, nil
}

// unseal makes bytes that were closed or failed writable again.
func (f *file) unseal(up *spool.Upload) error {
	switch up.Record().State {
	case spool.Failed:
		if d, _ := f.place(); d == nil {
			return errFailed // kept as it was when it failed
		}
		if err := up.Reopen(); err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.bad, f.accepted = nil, false
		return nil
	case spool.Created:
		return nil
	case spool.Committed, spool.Sending, spool.Confirmed:
	}
	return syscall.EPERM // being archived as it was closed
}

// copyContent fills the spool with the document's content.
func (f *file) copyContent(ctx context.Context, up *spool.Upload) error {
	r, err := f.openContent(ctx)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // read only
	buf := make([]byte, 1<<20)
	for off := int64(0); off < r.Size(); {
		n, err := r.ReadAt(ctx, buf, off)
		if n == 0 && err != nil {
			if err == io.EOF { //nolint:errorlint // io.ReaderAt returns io.EOF itself
				return io.ErrUnexpectedEOF
			}
			return err
		}
		if _, err := up.WriteAt(buf[:n], off); err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

// truncate sets the length of the file's bytes.
func (f *file) truncate(ctx context.Context, size int64) error {
	up, err := f.stage(ctx, size == 0)
	if err != nil {
		return err
	}
	if err := up.Truncate(size); err != nil {
		return f.spoil(up, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.up == up {
		f.dirty = true
	}
	return nil
}

// spoil remembers that the bytes are not what the program meant to write.
func (f *file) spoil(up *spool.Upload, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.up == up && f.bad == nil {
		f.bad = fmt.Errorf("a write failed: %w", err)
	}
	return err
}

func (h *writeHandle) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	f := h.file
	up, err := f.stage(detached(ctx), false)
	if err != nil {
		return 0, f.fs.errno("write", f.path(), err)
	}
	n, err := up.WriteAt(data, off)
	if err != nil {
		return 0, f.fs.errno("write", f.path(), f.spoil(up, err))
	}
	h.wrote(up)
	return uint32(n), 0 //nolint:gosec // at most len(data), which the kernel bounds
}

func (h *writeHandle) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	f := h.file
	if up := f.pending(); up != nil {
		n, err := up.ReadAt(dest, off)
		if err == nil || err == io.EOF { //nolint:errorlint // io.ReaderAt returns io.EOF itself
			return fuse.ReadResultData(dest[:n]), 0
		}
		if f.pending() == up {
			return nil, f.readErrno(err)
		}
		// It was archived at this moment.
	}
	r, err := h.contentReader(ctx)
	if err != nil {
		return nil, f.readErrno(err)
	}
	res, err := readContent(ctx, r, dest, off)
	return res, f.readErrno(err)
}

// contentReader opens the document behind a handle that nothing was written through, or
// whose bytes have been archived meanwhile.
func (h *writeHandle) contentReader(ctx context.Context) (*cache.Reader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reader == nil {
		if h.file.document() == nil {
			return nil, syscall.EIO
		}
		r, err := h.file.openContent(ctx)
		if err != nil {
			return nil, err
		}
		h.reader = r
	}
	return h.reader, nil
}

func (h *writeHandle) Lseek(_ context.Context, off uint64, whence uint32) (uint64, syscall.Errno) {
	size, ok := h.file.exactSize()
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
	up := h.file.pending()
	if up == nil {
		return 0
	}
	if err := up.Sync(); err != nil {
		return h.file.fs.errno("fsync", h.file.path(), h.file.spoil(up, err))
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
		return f.fs.errno("close", f.path(), h.outcome())
	}
	switch examineClose(callerPID(ctx), h.opener, f.ino, &f.fs.mounts) {
	case closeMore:
		return 0
	case closeUnknown: // the end shows at release
		return f.fs.errno("close", f.path(), h.accept(up))
	case closeKilled:
		f.abandon("the program that wrote it was killed before it had finished")
		return 0
	case closeLast:
	}
	if others := h.ended(); others { // half of what they write is not to be archived
		return f.fs.errno("close", f.path(), h.accept(up))
	}
	return f.fs.errno("close", f.path(), f.finish(detached(ctx)))
}

// unfinished returns the bytes in the spool and whether they were written to since they
// were archived last.
func (f *file) unfinished() (up *spool.Upload, todo bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.up, f.up != nil && (f.dirty || f.bad != nil)
}

// Release ends the handle. What no close could be told about is archived now.
func (h *writeHandle) Release(ctx context.Context) syscall.Errno {
	f := h.file
	h.mu.Lock()
	if h.reader != nil {
		_ = h.reader.Close() // read only
		h.reader = nil
	}
	h.mu.Unlock()
	h.ended()
	last, lastWriter := f.leaveHandle(h)
	if lastWriter {
		f.endWriting(detached(ctx))
	}
	if last {
		f.dropRemoved()
	}
	return 0
}

// endWriting finishes a file whose last writer has gone, when its closes did not. They
// were answered with success.
func (f *file) endWriting(ctx context.Context) {
	f.mu.Lock()
	up, dirty, bad, removed, doc := f.up, f.dirty, f.bad, f.removed, f.doc
	f.accepted = f.accepted || up != nil && (dirty || bad != nil)
	f.mu.Unlock()
	switch {
	case up == nil || removed:
	case dirty || bad != nil:
		if err := f.finish(ctx); err != nil {
			f.fs.failed("archive after close", f.path(), err)
		}
	case doc == nil && up.Record().State == spool.Created:
		if err := up.Keep(); err != nil { // created and closed without a byte
			f.fs.failed("keep", f.path(), err)
		}
	}
}

// dropRemoved throws the bytes away of a file that was removed while it was open. The
// file goes on standing for them, for who holds its inode.
func (f *file) dropRemoved() {
	f.mu.Lock()
	up, gone := f.up, f.removed && f.handles == 0
	f.mu.Unlock()
	if up != nil && gone {
		f.fs.discard(up)
	}
}
