package fs

import (
	"context"
	"fmt"
	"io"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// record describes a file that is created in a directory; doc is the inbox document that
// it gets new bytes for, or nil.
func (f *FileSystem) record(d *dir, name string, doc *archive.Document) spool.Record {
	r := spool.Record{Inbox: d.inInbox(), Path: d.path(), Local: d.local(), Name: name}
	d.aim(&r)
	if doc != nil {
		r.Replace = doc.ID
		r.DocumentName = doc.Name
	}
	return r
}

// inInbox reports whether the directory is an inbox or below one.
func (d *dir) inInbox() bool {
	if d.kind == localDir {
		return d.above().inInbox()
	}
	return d.kind == inboxDir
}

// discard throws bytes of the spool away that nobody will ask for.
func (f *FileSystem) discard(up *spool.Upload) {
	if err := up.Remove(); err != nil {
		f.log.Warnf("remove %s from the spool: %v", up.ID(), err)
		return
	}
	f.letGo(up)
}

// stage makes sure that the file's bytes are in the spool and may be changed. An inbox
// document's content is copied there first, unless empty says that nothing of it is
// wanted. An archived document cannot be staged.
func (f *file) stage(ctx context.Context, empty bool) (*spool.Upload, error) {
	if _, err := f.recall(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	up, doc := f.up, f.doc
	f.mu.Unlock()
	switch {
	case up == nil && (doc == nil || f.archived()):
		return nil, syscall.EPERM
	case up != nil && up.State() == spool.Created:
		return up, nil
	case up != nil && up.State() != spool.Failed:
		return nil, syscall.EPERM // being archived as it was closed
	}
	f.commit.Lock()
	defer f.commit.Unlock()
	if up := f.pending(); up != nil { // failed, or staged meanwhile
		return up, f.unsealLocked(up)
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
	f.fs.hold(up, f)
	return up, nil
}

// recall takes a file that is queued back, so that it can be changed before the archive
// gets it. One that is being sent is waited for: it is a document then, or has failed. One
// that the archive may have is busy. It reports whether the file was queued.
func (f *file) recall() (bool, error) {
	if up := f.pending(); up == nil || !up.Record().Queued {
		return false, nil
	}
	f.commit.Lock()
	defer f.commit.Unlock()
	up := f.pending()
	switch {
	case up == nil || !up.Record().Queued:
		return false, nil
	case up.State() == spool.Sending:
		return false, syscall.EBUSY
	}
	if err := up.Reopen(); err != nil {
		return false, err
	}
	f.mu.Lock()
	f.accepted = false
	f.mu.Unlock()
	return true, up.Keep()
}

// requeue undoes recall.
func (f *file) requeue() error {
	f.commit.Lock()
	defer f.commit.Unlock()
	up := f.pending()
	if up == nil || up.State() != spool.Created {
		return nil
	}
	err := up.Update(func(r *spool.Record) { r.Queued = true })
	if err == nil {
		err = up.Commit()
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.accepted = true
	f.mu.Unlock()
	f.fs.queue.add(up)
	return nil
}

// unsealLocked makes bytes that failed writable again. The caller holds commit, under which
// is decided what becomes of a failed file.
func (f *file) unsealLocked(up *spool.Upload) error {
	switch up.State() {
	case spool.Failed:
		if d, _ := f.place(); d == nil {
			return errFailed // kept as it was when it failed
		}
		if err := up.Reopen(); err != nil {
			return err
		}
		f.mu.Lock()
		orphaned := f.doc == nil && up.Record().Replace != 0
		f.bad, f.accepted = nil, false
		f.mu.Unlock()
		if orphaned { // the document that it was to replace is gone
			return up.Update(func(r *spool.Record) { r.Replace = 0 })
		}
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
