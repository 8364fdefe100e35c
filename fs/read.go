package fs

import (
	"context"
	"io"
	"sync/atomic"
	"syscall"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// fetchContent opens the document's content in the representation that the service has.
// It returns when the exact length is known.
func (f *readable) fetchContent(ctx context.Context) (*cache.Reader, error) {
	if f.as != nil {
		return f.openAs(ctx, f.as.Key.Document, f.as.Key.Representation)
	}
	doc := f.document().ID
	order := f.fs.reps.Order()
	if first := f.fs.reps.Of(doc); first != order[0] {
		if r, err := f.openAs(ctx, doc, first); err == nil {
			return r, nil // put in here, and still cached as it was uploaded
		}
	}
	var err error
	for _, rep := range order {
		var r *cache.Reader
		if r, err = f.openAs(ctx, doc, rep); err == nil {
			f.fs.reps.Found(rep)
			return r, nil
		}
		if archive.KindOf(err) != archive.KindUnsupported {
			break
		}
		f.fs.reps.Lacks(rep, doc)
	}
	return nil, f.missed(err)
}

// missed handles an error of a request about the document: where the service does not
// have it any more, its directory is listed again.
func (f *readable) missed(err error) error {
	if archive.KindOf(err) == archive.KindNotFound {
		if d, name := f.place(); d != nil {
			d.distrust()
			f.fs.kernel.forgetNames(d, []string{name})
		}
	}
	return err
}

// immutable reports whether a representation of the document never changes: an archived
// document does not, but what is said about it (its data) and read in it (its text) does.
func (f *readable) immutable(rep archive.Representation) bool {
	return rep != archive.Data && rep != archive.Text && f.archived()
}

// maxAge is how long a representation is trusted: for ever once it was fetched where it
// never changes, else for the ttl or as long as the service says that it has not changed.
func (f *readable) maxAge(rep archive.Representation) time.Duration {
	if f.immutable(rep) {
		return cache.Final
	}
	return f.fs.opts.TTL
}

// openAs opens the content in one representation.
func (f *readable) openAs(ctx context.Context, doc archive.ID, rep archive.Representation) (*cache.Reader, error) {
	key := cache.Key{Document: doc, Representation: rep}
	r, err := f.fs.content.Open(ctx, key, f.maxAge(rep), func(ctx context.Context, w cache.Want) (*archive.Content, error) {
		c, err := f.fs.service.Archive.Content(ctx, archive.ContentRequest{
			Document: doc, Representation: rep, Offset: w.Offset, Length: w.Length, Match: w.Match, NoneMatch: w.NoneMatch,
		})
		return c, f.fs.service.Answered(err)
	})
	if err != nil {
		return nil, err
	}
	if f.immutable(rep) {
		f.fs.facts.Learn(key, r.Size())
	}
	if d, _ := f.place(); d != nil && rep == archive.Original {
		d.lengths().Found(doc, r.Size())
	}
	return r, nil
}

// readHandle reads a document. It never writes.
type readHandle struct {
	file *file
	node *fileNode
	view *docReader
	read atomic.Bool // something of it may have been read
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
	return res, h.file.readErrno(err)
}

// readContent reads from the complete file without a copy where there is one. No more is
// promised than there is: the library would do all of it again for a shorter answer.
func readContent(ctx context.Context, r *cache.Reader, dest []byte, off int64) (fuse.ReadResult, error) {
	if file := r.File(); file != nil {
		n := min(int64(len(dest)), max(r.Size()-off, 0))
		return fuse.ReadResultFd(file.Fd(), off, int(n)), nil
	}
	n, err := r.ReadAt(ctx, dest, off)
	if err != nil && err != io.EOF { //nolint:errorlint // io.ReaderAt returns io.EOF itself
		return nil, err
	}
	return fuse.ReadResultVector([][]byte{dest[:n]}), nil // which is written at once, without a pipe
}

// readErrno is the errno of a failed read. Programs take EAGAIN from read for the end of
// the file, so they are told EIO.
func (f *readable) readErrno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	errno := f.fs.errnos.Of("read", f.path(), err)
	if errno == syscall.EAGAIN || errno == syscall.ENOENT {
		return syscall.EIO
	}
	return errno
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
	if d, _ := h.file.place(); d != nil && !h.read.Load() && !h.view.of.direct && h.view.Size() > 0 {
		d.unread.Store(true)
		h.file.fs.readAhead.Stop(walked{d})
	}
	h.file.fs.handles.remove(h)
	direct := h.file.direct(h.view.Reader, access{})
	if err := h.view.Close(); err != nil {
		h.file.fs.log.Debugf("close cached content: %v", err)
	}
	if direct {
		h.node.dropPages()
	}
	return 0
}
