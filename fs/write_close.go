package fs

import (
	"context"
	"syscall"

	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/internal/closing"
	"github.com/archivefs/archivefs/internal/spool"
)

// Fsync makes the bytes durable on this machine. That they are archived is close's word.
func (h *writeHandle) Fsync(context.Context, uint32) syscall.Errno {
	up := h.file.pending()
	if up == nil {
		return 0
	}
	if err := h.spoiled(); err != nil {
		return h.file.fs.errnos.Of("fsync", h.file.path(), err)
	}
	if err := up.Sync(); err != nil {
		return h.file.fs.errnos.Of("fsync", h.file.path(), h.file.spoil(up, err))
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
	switch closing.Examine(callerPID(ctx), h.opener, f.ino, f.mappable(), &f.fs.mounts) {
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

// unfinished returns the bytes in the spool and whether they were written to since they
// were archived last. Nothing becomes of a file that was removed.
func (f *file) unfinished() (up *spool.Upload, todo bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.up, f.up != nil && f.phase.unfinished()
}

// mappable reports whether somebody may write to the file through a mapping.
func (f *file) mappable() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mappers > 0
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

// endWriting finishes a file whose last writer has gone, when its closes did not. They
// were answered with success. One who has begun to write meanwhile ends it instead.
func (v *delivery) endWriting(ctx context.Context, f *file) {
	f.mu.Lock()
	up, todo, doc := f.up, f.phase.unfinished(), f.doc
	nothing := up == nil || f.phase == removed || f.writing > 0
	if !nothing && todo {
		f.happenedLocked(onAnswer)
	}
	f.mu.Unlock()
	switch {
	case nothing:
	case todo:
		if err := v.fs.delivery.finish(ctx, f, true); err != nil {
			v.fs.service.Failures.Add("archive after close", up, f.path(), err)
		}
	case doc == nil && up.State() == spool.Created: // else it is on its way, which is not waited for
		v.keepUnwritten(f)
	}
}

// keepUnwritten keeps a file that was created and closed without a byte as a local one,
// unless a rename has just taken it for the archive.
func (v *delivery) keepUnwritten(f *file) {
	f.commit.Lock()
	defer f.commit.Unlock()
	up, todo := f.unfinished()
	if up == nil || todo { // somebody writes by now
		return
	}
	if r := up.Record(); r.State != spool.Created || r.Closed || r.Queued {
		return
	}
	if err := up.Keep(); err != nil {
		v.fs.service.Failures.Add("keep", up, f.path(), err)
	}
}
