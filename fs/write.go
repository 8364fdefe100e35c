package fs

import (
	"context"
	"io"
	"sync"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/cache"
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
	reader *docReader // of the document, while nothing was written; guarded by mu
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

// access is how a file is opened.
type access struct {
	pid                      uint32 // of the thread that opens it, as callerPID tells it
	write, truncate, appends bool
	maps                     bool // for reading and writing
}

// accessOf reads the flags of open(2).
func accessOf(ctx context.Context, flags uint32) access {
	truncate := flags&syscall.O_TRUNC != 0
	return access{
		pid:   callerPID(ctx),
		write: truncate || flags&syscall.O_ACCMODE != syscall.O_RDONLY, truncate: truncate, appends: flags&syscall.O_APPEND != 0,
		maps: flags&syscall.O_ACCMODE == syscall.O_RDWR,
	}
}

// openWrite opens the file for writing, or for reading while its bytes are in the spool.
// v is what it reads of a document, which is not touched before the first write, or nil;
// truncated, it starts empty.
func (f *file) openWrite(ctx context.Context, a access, v *docReader) (*writeHandle, error) {
	h := &writeHandle{file: f, writer: a.write, maps: a.maps, appends: a.appends, reader: v}
	if a.write {
		h.opener = closing.ThreadGroup(a.pid)
	}
	if err := f.enterHandle(h); err != nil {
		return nil, err
	}
	if a.truncate {
		if err := f.truncate(ctx, h, 0); err != nil {
			h.ended()
			if lastWriter := f.leaveHandle(h); lastWriter {
				f.untouched(detached(ctx))
			}
			return nil, err
		}
		f.doubtPages()
	}
	f.fs.handles.add(h)
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
	f.enterLocked(h)
	return nil
}

// enterLocked is enterHandle for a file with no bytes in the spool. The caller holds mu.
func (f *file) enterLocked(h *writeHandle) {
	f.handles++
	f.way = throughUs
	if h.writer {
		f.writers++
	}
	if h.maps {
		f.mappers++
	}
}

// leaveHandle undoes enterHandle and reports whether it was the last handle that might
// write.
func (f *file) leaveHandle(h *writeHandle) (lastWriter bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handles--
	if h.writer {
		f.writers--
		lastWriter = f.writers == 0
	}
	if h.maps {
		f.mappers--
	}
	if f.up != nil {
		if err := f.up.Close(); err != nil {
			f.fs.log.Debugf("close spool file: %v", err)
		}
	}
	return lastWriter
}

func (h *writeHandle) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	f := h.file
	var n int
	err := f.edit(ctx, h, false, func(up *spool.Upload) (err error) {
		f.doubtPages()
		if h.appends {
			off = up.Size() // the kernel sends one write of an inode at a time
		}
		n, err = up.WriteAt(data, off)
		return err
	})
	if err != nil {
		return 0, f.fs.errnos.Of("write", f.path(), err)
	}
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

// contentReader is what the handle reads of the document that nothing was written to, or
// whose bytes have been archived meanwhile.
func (h *writeHandle) contentReader(ctx context.Context) (*cache.Reader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reader == nil || !h.reader.current() {
		if h.file.document() == nil {
			return nil, syscall.EIO
		}
		v, err := h.file.openContent(ctx)
		if err != nil {
			return nil, err
		}
		v.former = h.reader
		h.reader = v
	}
	return h.reader.Reader, nil
}

func (h *writeHandle) Lseek(_ context.Context, off uint64, whence uint32) (uint64, syscall.Errno) {
	size, ok := h.file.currentSize()
	if !ok {
		return 0, syscall.EINVAL // cp then reads without looking for holes
	}
	return lseek(size, off, whence)
}

// Allocate refuses to reserve space: programs fall back to writing.
func (h *writeHandle) Allocate(context.Context, uint64, uint64, uint32) syscall.Errno {
	return syscall.EOPNOTSUPP
}
