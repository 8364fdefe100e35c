package fs

import (
	"context"
	"errors"

	"github.com/archivefs/archivefs/internal/spool"
)

// edit changes the file's bytes, which are staged before. The first change through a handle
// is made under commit, and counts the handle among those that write: so nobody archives
// half of what a program writes, nor are its further writes refused. A file that failed
// meanwhile, with what the handle wrote, is not gone on with. h is nil for a change that no
// close follows. What is being sent, or has to be fetched first, is waited for, unless the caller is
// killed.
func (f *file) edit(ctx context.Context, h *writeHandle, empty bool, change func(*spool.Upload) error) error {
	up, writing := f.writtenBy(h)
	if writing && up != nil {
		err := change(up)
		var sealed *spool.StateError
		if !errors.As(err, &sealed) {
			return f.changed(up, h, err)
		}
	}
	if err := f.mayStage(); err != nil {
		return err
	}
	ctx, stop := whileAlive(ctx)
	defer stop()
	if err := lockWhile(ctx, &f.commit); err != nil {
		return err
	}
	defer f.commit.Unlock()
	if up = f.pending(); writing && (up == nil || up.State() == spool.Failed) {
		return errFailed
	}
	up, err := f.stageLocked(ctx, empty)
	if err != nil {
		return err
	}
	return f.changed(up, h, change(up))
}

// writtenBy returns the file's bytes in the spool, and whether the handle is among those
// that write to them.
func (f *file) writtenBy(h *writeHandle) (up *spool.Upload, writing bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.up, h != nil && h.writing
}

// changed notes the outcome of a change, which it returns. One that failed before it
// touched the bytes of a finished file leaves that as it was accepted.
func (f *file) changed(up *spool.Upload, h *writeHandle, err error) error {
	if err != nil && up.Record().Closed {
		return err
	}
	f.wrote(up, h)
	if err != nil {
		return f.spoil(up, err)
	}
	return nil
}

// truncate sets the length of the file's bytes, through h where there is a handle.
func (f *file) truncate(ctx context.Context, h *writeHandle, size int64) error {
	return f.edit(ctx, h, size == 0, func(up *spool.Upload) error { return up.Truncate(size) })
}

// untouched ends what a handle began that could not truncate the file, when nobody else
// writes to it. Bytes that did not change are what they were; others fail.
func (f *file) untouched(ctx context.Context) {
	if up := f.pending(); up != nil {
		if r := up.Record(); r.Closed && r.Queued {
			f.fs.staging.queue.Add(up)
			return
		}
	}
	_ = f.fs.delivery.finish(ctx, f, true) // who truncates is told why it failed
}

// spoil remembers that the bytes are not what the program meant to write.
func (f *file) spoil(up *spool.Upload, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.up == up {
		f.spoilLocked(err)
	}
	return err
}
