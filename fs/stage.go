package fs

import (
	"context"
	"io"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
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
func (s *staging) discard(up *spool.Upload) {
	if err := up.Remove(); err != nil {
		s.fs.log.Warnf("remove %s from the spool: %v", up.ID(), err)
		return
	}
	s.letGo(up)
}

// errAsClosed refuses to change what a close has handed over.
var errAsClosed = errno.Refuse(syscall.EPERM, "it is being archived as it was closed")

// mayStage refuses, without waiting, to stage what cannot be replaced, or is about to be
// archived.
func (f *file) mayStage() error {
	up := f.pending()
	if up == nil {
		return f.mayRewrite()
	}
	switch r := up.Record(); {
	case r.State == spool.Created, r.State == spool.Failed, r.Queued:
		return nil
	}
	return errAsClosed
}

// stageLocked makes sure that the file's bytes are in the spool and may be changed. An inbox
// document's content is copied there first, unless empty says that nothing of it is
// wanted. What is queued is taken back. What cannot be replaced is not staged. The caller
// holds commit.
func (f *file) stageLocked(ctx context.Context, empty bool) (*spool.Upload, error) {
	if up := f.pending(); up != nil {
		return up, f.unsealLocked(up)
	}
	if err := f.mayRewrite(); err != nil { // archived, or found out, meanwhile
		return nil, err
	}
	d, name := f.place()
	if d == nil {
		return nil, syscall.ENOENT
	}
	up, err := f.fs.staging.spool.Create(f.fs.record(d, name, f.document()))
	if err != nil {
		return nil, err
	}
	if !empty {
		if err := f.copyContent(ctx, up); err != nil {
			f.fs.staging.discard(up)
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
	f.up = up
	f.happenedLocked(onStage)
	f.fs.staging.hold(up, f)
	return up, nil
}

// mayRewrite refuses new bytes for a document that is archived, and for any document where
// it is known that the service cannot replace them: what is staged would be refused at its
// close.
func (f *file) mayRewrite() error {
	switch {
	case f.document() == nil, f.archived():
		return errno.ErrArchived
	case f.fs.service.Archive.LacksReplace():
		return errno.ErrNoReplace
	}
	return nil
}

// recallLocked takes bytes that are queued back, so that they can be changed before the
// archive gets them. They stay in the queue until the first change. The caller holds
// commit, so they are not being sent; what the archive may have is busy.
func (f *file) recallLocked(up *spool.Upload) error {
	switch up.State() {
	case spool.Created:
		return nil
	case spool.Committed:
	case spool.Sending, spool.Confirmed, spool.Failed:
		return errno.ErrMayHave
	}
	if err := up.Recall(); err != nil {
		return err
	}
	f.happened(onRecall)
	return nil
}

// unsealLocked makes bytes that failed, or are queued, writable again. The caller holds
// commit, under which is decided what becomes of them.
func (f *file) unsealLocked(up *spool.Upload) error {
	if up.Record().Queued {
		return f.recallLocked(up)
	}
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
		f.happenedLocked(onRecall)
		f.mu.Unlock()
		if orphaned { // the document that it was to replace is gone
			return up.Update(func(r *spool.Record) { r.Replace = 0 })
		}
		return nil
	case spool.Created:
		return nil
	case spool.Committed, spool.Sending, spool.Confirmed:
	}
	return errAsClosed
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
