package fs

import (
	"context"
	"io"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// openContent opens the document's content in the representation that the service has.
// It returns when the exact length is known.
func (f *file) openContent(ctx context.Context) (*cache.Reader, error) {
	doc := f.document().ID
	order := f.fs.order()
	if first := f.fs.representation(doc); first != order[0] {
		if r, err := f.openAs(ctx, doc, first); err == nil {
			return r, nil // put in here, and still cached as it was uploaded
		}
	}
	var err error
	for _, rep := range order {
		var r *cache.Reader
		if r, err = f.openAs(ctx, doc, rep); err == nil {
			f.fs.chosen(rep)
			return r, nil
		}
		if archive.KindOf(err) != archive.KindUnsupported {
			break
		}
	}
	if archive.KindOf(err) == archive.KindNotFound {
		if d, _ := f.place(); d != nil {
			d.distrust()
		}
	}
	return nil, err
}

// openAs opens the content in one representation. An archived document's content is
// trusted for ever, an inbox document's for the ttl or as long as the service says that
// it has not changed.
func (f *file) openAs(ctx context.Context, doc archive.ID, rep archive.Representation) (*cache.Reader, error) {
	key := cache.Key{Document: doc, Representation: rep}
	archived := f.archived()
	maxAge := f.fs.opts.TTL
	if archived {
		maxAge = -1
	}
	r, err := f.fs.content.Open(ctx, key, maxAge, func(ctx context.Context, w cache.Want) (*archive.Content, error) {
		return f.fs.archive.Content(ctx, archive.ContentRequest{
			Document: doc, Representation: rep, Offset: w.Offset, Match: w.Match, NoneMatch: w.NoneMatch,
		})
	})
	if err == nil && archived {
		f.fs.facts.Learn(key, r.Size())
	}
	return r, err
}

// readHandle reads a document. It never writes.
type readHandle struct {
	file   *file
	reader *cache.Reader
}

var (
	_ = fusefs.FileReader((*readHandle)(nil))
	_ = fusefs.FileFlusher((*readHandle)(nil))
	_ = fusefs.FileReleaser((*readHandle)(nil))
	_ = fusefs.FileLseeker((*readHandle)(nil))
	_ = fusefs.FileFsyncer((*readHandle)(nil))
)

// openRead opens a document for reading. The kernel keeps its pages when they are of the
// same content.
func (f *file) openRead(ctx context.Context) (fusefs.FileHandle, uint32, error) {
	r, err := f.openContent(ctx)
	if err != nil {
		return nil, 0, err
	}
	flags := uint32(fuse.FOPEN_NOFLUSH)
	f.mu.Lock()
	if f.content == r.Serial() {
		flags |= fuse.FOPEN_KEEP_CACHE
	}
	f.content = r.Serial()
	f.opened, f.sized = r.Size(), true
	f.mu.Unlock()
	return &readHandle{file: f, reader: r}, flags, nil
}

func (h *readHandle) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	res, err := readContent(ctx, h.reader, dest, off)
	return res, h.file.readErrno(err)
}

// readContent reads from the complete file without a copy where there is one.
func readContent(ctx context.Context, r *cache.Reader, dest []byte, off int64) (fuse.ReadResult, error) {
	if file := r.File(); file != nil {
		return fuse.ReadResultFd(file.Fd(), off, len(dest)), nil
	}
	n, err := r.ReadAt(ctx, dest, off)
	if err != nil && err != io.EOF { //nolint:errorlint // io.ReaderAt returns io.EOF itself
		return nil, err
	}
	return fuse.ReadResultData(dest[:n]), nil
}

// readErrno is the errno of a failed read. Programs take EAGAIN from read for the end of
// the file, so they are told EIO.
func (f *file) readErrno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	errno := f.fs.errno("read", f.path(), err)
	if errno == syscall.EAGAIN || errno == syscall.ENOENT {
		return syscall.EIO
	}
	return errno
}

func (h *readHandle) Lseek(_ context.Context, off uint64, whence uint32) (uint64, syscall.Errno) {
	return lseek(h.reader.Size(), off, whence)
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
	if err := h.reader.Close(); err != nil {
		h.file.fs.log.Debugf("close cached content: %v", err)
	}
	return 0
}
