package staging

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"

	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/internal/closing"
	"github.com/archivefs/archivefs/internal/spool"
)

// Handle is an open file: one that may be written, one whose bytes are staged, or a document whose
// content is opened later. All handles of a file share its bytes.
type Handle struct {
	File   *File
	opener int // the process that opened it, 0 if unknown
	writer bool
	// maps says that the file can be written through a mapping, because it is open for reading, too.
	maps bool
	// appends says that every write goes to the actual end of the bytes (O_APPEND). The kernel's
	// offset may be wrong, because it may know only an estimate of the length, or an old one.
	appends bool
	// unclosed says that no close follows a change through the handle, as with truncate(2).
	unclosed bool

	// wrote is what the program has written to and not closed the handle since, nil if it has not; perhaps says that
	// one of its closes may have been the last.
	wrote   *spool.Upload // +checklocks:File.Mu
	perhaps bool          // +checklocks:File.Mu

	mu sync.Mutex
	// reader reads the document while nothing is written.
	reader *content.Reader // +checklocks:mu
}

// WriteAt writes data at off, or at the end if the handle appends.
func (h *Handle) WriteAt(ctx context.Context, data []byte, off int64) (n int, err error) {
	err = h.edit(ctx, false, func(up *spool.Upload) (err error) {
		h.File.DoubtPages()
		if h.appends {
			off = up.Size() // the kernel sends the writes of an inode one by one
		}
		n, err = up.WriteAt(data, off)
		return err
	})
	return n, err
}

// ReadStaged reads staged bytes. staged is false if there are none, or if they were archived during the call.
func (h *Handle) ReadStaged(dest []byte, off int64) (n int, staged bool, err error) {
	up := h.File.Pending()
	if up == nil {
		return 0, false, nil
	}
	n, err = up.ReadAt(dest, off)
	if err == nil || err == io.EOF { //nolint:errorlint // io.ReaderAt returns io.EOF itself
		return n, true, nil
	}
	return 0, h.File.Pending() == up, err
}

// ContentReader returns the reader of the document, for a file without staged bytes.
func (h *Handle) ContentReader(ctx context.Context) (*cache.Reader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reader == nil || !h.reader.Current() {
		if h.File.Document() == nil {
			return nil, syscall.EIO
		}
		v, err := h.File.OpenContent(ctx)
		if err != nil {
			return nil, err
		}
		v.Former = h.reader
		h.reader = v
	}
	return h.reader.Reader, nil
}

// Sync makes the staged bytes durable on this machine. Only a close archives them.
func (h *Handle) Sync() error {
	up := h.File.Pending()
	if up == nil {
		return nil
	}
	if err := h.whyNotDurable(); err != nil {
		return err
	}
	if err := up.Sync(false); err != nil {
		return h.File.spoil(up, err)
	}
	return nil
}

// Closed handles a FLUSH: the thread pid has closed a descriptor of the handle. If ends is true the
// file is complete, and the caller calls Finish. err is what close returns.
func (h *Handle) Closed(pid uint32, mounts *closing.Mounts) (ends bool, err error) {
	f := h.File
	if !h.writer {
		return false, nil
	}
	up := f.Pending()
	if up == nil || !up.State().Due() {
		return false, h.outcome()
	}
	up.BeginSync()
	_, mapped := f.Writing()
	switch closing.Examine(pid, h.opener, f.Ino, mapped, mounts) {
	case closing.More:
		return false, nil
	case closing.Stopped:
		if err := errors.Join(up.Update(func(r *spool.Record) { r.Stopped = true }), h.answer(up)); err != nil {
			return false, err
		}
	case closing.Unseen: // perhaps killed: whoever comes back within a while replaces it
		if err := up.Update(func(r *spool.Record) { r.Rest = max(r.Rest, Doubt) }); err != nil {
			return false, err
		}
		fallthrough
	case closing.Unknown: // RELEASE finishes the file
		err := h.answer(up)
		h.File.Mu.Lock()
		h.perhaps = true
		h.File.Mu.Unlock()
		return false, err
	case closing.Inherited:
		err := h.answer(up)
		h.stopWriting() // until a process that inherited it writes
		return false, err
	case closing.Killed:
		if _, writing := h.written(); writing {
			f.s.Delivery.abandon(f, "the program that wrote it was killed before it had finished")
		}
		return false, nil
	case closing.Last:
	}
	last, err := h.end(up)
	return last && err == nil, err
}

// Finish archives the file after Closed has reported its end. The error is what close returns.
func (h *Handle) Finish(ctx context.Context) error {
	return h.File.s.Delivery.finish(ctx, h.File, false)
}

// Leave ends the handle (RELEASE). After the last writer it finishes what no close has finished.
func (h *Handle) Leave(ctx context.Context) {
	h.mu.Lock()
	if h.reader != nil {
		_ = h.reader.Close() // read only
		h.reader = nil
	}
	h.mu.Unlock()
	h.stopWriting()
	if lastWriter := h.exit(); lastWriter {
		h.File.s.Delivery.endWriting(context.WithoutCancel(ctx), h.File)
	}
}

// errAborted is the reason of a file that fails because the mount was aborted while a program wrote it.
var errAborted = errors.New("the mount was aborted while a program was writing it")

// CutOff fails a file that was being written through the handle when the connection to the kernel
// ended. If the program had finished, FLUSH would have reported its close.
func (h *Handle) CutOff() {
	f := h.File
	f.Mu.Lock()
	half := h.wrote != nil && !h.perhaps
	f.Mu.Unlock()
	if half {
		f.s.Delivery.abandon(f, errAborted.Error())
	}
}

// enter counts an open handle, which keeps the staged bytes open.
func (h *Handle) enter() error {
	f := h.File
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Up != nil {
		if err := f.Up.Open(); err != nil {
			return err
		}
	}
	h.enterLocked()
	return nil
}

// enterLocked is enter for a file without staged bytes.
// +checklocks:h.File.Mu
func (h *Handle) enterLocked() {
	f := h.File
	f.Handles++
	f.Way = content.ThroughUs
	if h.writer {
		f.writers++
	}
	if h.maps {
		f.mappers++
	}
}

// enterUnread is enter for a handle that has no content yet. It returns false if a handle or the
// kernel reads the file, if its bytes are staged, or if another file has replaced it.
func (h *Handle) enterUnread() bool {
	f := h.File
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Reading != nil || f.Up != nil || f.Superseded != nil || f.Way == content.ByKernel {
		return false
	}
	h.enterLocked()
	return true
}

// exit undoes enter and reports whether this was the last handle that may write.
func (h *Handle) exit() (lastWriter bool) {
	f := h.File
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Handles--
	if h.writer {
		f.writers--
		lastWriter = f.writers == 0
	}
	if h.maps {
		f.mappers--
	}
	if f.Up != nil {
		if err := f.Up.Close(); err != nil {
			f.s.Service.Log.Debugf("close spool file: %v", err)
		}
	}
	return lastWriter
}

func (h *Handle) truncate(ctx context.Context, size int64) error {
	return h.edit(ctx, size == 0, func(up *spool.Upload) error { return up.Truncate(size) })
}

// edit stages the file's bytes and changes them. The first change through a handle is made under Commit and counts the
// handle as a writer: from then on nobody archives the file half-written, and its further writes are not refused. If
// the file has failed since the handle wrote to it, edit returns errFailed. It waits for an upload in flight and for
// content to download, unless the caller is killed.
func (h *Handle) edit(ctx context.Context, empty bool, change func(*spool.Upload) error) error {
	f := h.File
	up, writing := h.written()
	if writing && up != nil {
		err := change(up)
		var sealed *spool.StateError
		if !errors.As(err, &sealed) {
			return h.changed(up, err)
		}
	}
	if err := f.mayStage(empty); err != nil {
		return err
	}
	ctx, stop := f.s.WhileAlive(ctx)
	defer stop()
	if err := lockWhile(ctx, &f.Commit); err != nil {
		return err
	}
	defer f.Commit.Unlock()
	// checklocks does not follow conditional locking: Commit is held here.
	return h.editLocked(ctx, writing, empty, change) // +checklocksforce
}

// editLocked is edit under Commit. writing says that the handle already counts as a writer.
// +checklocks:h.File.Commit
func (h *Handle) editLocked(ctx context.Context, writing, empty bool, change func(*spool.Upload) error) error {
	if up := h.File.Pending(); writing && (up == nil || up.State().IsFailed()) {
		return errFailed
	}
	up, err := h.File.stageLocked(ctx, empty)
	if err != nil {
		return err
	}
	return h.changed(up, change(up))
}

// written returns the staged bytes, and whether the handle counts as a writer.
func (h *Handle) written() (up *spool.Upload, writing bool) {
	f := h.File
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Up, h.wrote != nil
}

// changed records the outcome of a change, and returns its error. A change that failed before it
// touched a closed file leaves that file as it is.
func (h *Handle) changed(up *spool.Upload, err error) error {
	if s := up.State(); err != nil && (s == spool.Local || s == spool.Recalled) {
		return err
	}
	h.count(up)
	if err != nil {
		return h.File.spoil(up, err)
	}
	return nil
}

// count counts the handle as a writer after a change.
func (h *Handle) count(up *spool.Upload) {
	f := h.File
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Up != up || h.unclosed {
		return // perhaps archived meanwhile, including this change
	}
	h.perhaps = false
	if h.wrote == nil {
		f.writing++
	}
	h.wrote = up
}

// end ends the writing through the handle. last reports that no other handle is a writer: a file is not archived
// half-written. If there are others, the bytes are made durable before the handle stops counting as a writer, so that
// no other close archives them while this one may still return an error.
func (h *Handle) end(up *spool.Upload) (last bool, err error) {
	f := h.File
	f.Mu.Lock()
	answered := f.writing > 1 || f.writing == 1 && h.wrote == nil
	f.Mu.Unlock()
	if answered {
		err = h.answer(up)
	}
	others := h.stopWriting()
	if others && !answered { // another writer has just begun
		err = h.answer(up)
	}
	return !others, err
}

// answer makes the bytes durable for a close that returns success before the file is finished: from
// then on they are not lost silently.
func (h *Handle) answer(up *spool.Upload) error {
	if err := h.whyNotDurable(); err != nil {
		return err
	}
	return h.File.promise(up)
}

// whyNotDurable returns why the bytes cannot be made durable any more, nil if they can. It is asked before each sync,
// because after a failed one the kernel forgets what it could not write, and the next sync would succeed.
func (h *Handle) whyNotDurable() error {
	if up := h.File.Pending(); up != nil && up.Spoilt() != nil {
		return up.Spoilt()
	}
	return h.outcome()
}

// outcome returns what a close returns if there is nothing to archive: an error if what the handle
// wrote failed in another handle's close.
func (h *Handle) outcome() error {
	f := h.File
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if h.wrote != nil && h.wrote.State().IsFailed() {
		return errFailed
	}
	return nil
}

// stopWriting records that the program has closed the handle, and reports whether other handles are writers.
func (h *Handle) stopWriting() (others bool) {
	f := h.File
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if h.wrote != nil {
		h.wrote = nil
		f.writing--
	}
	return f.writing > 0
}

// lockWhile locks mu unless ctx is done first. checklocks knows neither TryLock nor a lock that one
// goroutine takes for another.
// +checklocksignore
func lockWhile(ctx context.Context, mu *sync.Mutex) error {
	if mu.TryLock() {
		return nil
	}
	locked := make(chan struct{})
	go func() {
		mu.Lock()
		select {
		case locked <- struct{}{}:
		case <-ctx.Done():
			mu.Unlock()
		}
	}()
	select {
	case <-locked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
