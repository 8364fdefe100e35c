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

// Handle is an open file that may be written, or one whose bytes are in the spool, or a document
// that is read later. All handles of a file share its bytes.
type Handle struct {
	File   *File
	opener int // the process that opened it, 0 when it cannot be told
	writer bool
	// maps says that the file can be written to through a mapping: it is open for reading, too.
	maps bool
	// appends says that every write goes to the end (O_APPEND), wherever the kernel, which
	// may know an estimate of the length or a former one, takes that to be.
	appends bool
	// unclosed says that no close follows what is changed through it, as with truncate(2).
	unclosed bool

	// writing says that it wrote and was not closed since, perhaps that it may have been, as far
	// as could be told.
	writing bool // +checklocks:File.Mu
	perhaps bool // +checklocks:File.Mu

	mu sync.Mutex
	// reader is of the document, while nothing was written.
	reader *content.Reader // +checklocks:mu
}

// enter counts an open handle, which holds the bytes in the spool open.
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

// enterLocked is enter for a file with no bytes in the spool.
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

// enterUnread is enter for a file of which no handle reads anything, nor the kernel, and
// that no other one has taken the place of.
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

// exit undoes enter and reports whether it was the last handle that might
// write.
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

// edit changes the file's bytes, which are staged before. The first change through the handle
// is made under Commit, and counts it among those that write: so nobody archives half of what a
// program writes, nor are its further writes refused. A file that failed meanwhile, with what the
// handle wrote, is not gone on with. What is being sent, or has to be fetched first, is waited for,
// unless the caller is killed.
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
	if err := f.mayStage(); err != nil {
		return err
	}
	ctx, stop := f.s.whileAlive(ctx)
	defer stop()
	if err := lockWhile(ctx, &f.Commit); err != nil {
		return err
	}
	defer f.Commit.Unlock()
	// checklocks does not follow a lock that is taken only perhaps: here it is.
	return h.editLocked(ctx, writing, empty, change) // +checklocksforce
}

// editLocked is edit under Commit. writing says that the handle was among those that write.
// +checklocks:h.File.Commit
func (h *Handle) editLocked(ctx context.Context, writing, empty bool, change func(*spool.Upload) error) error {
	if up := h.File.Pending(); writing && (up == nil || up.State() == spool.Failed) {
		return errFailed
	}
	up, err := h.File.stageLocked(ctx, empty)
	if err != nil {
		return err
	}
	return h.changed(up, change(up))
}

// lockWhile locks mu unless ctx ends before. checklocks knows neither TryLock nor a lock that one
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

// written returns the file's bytes in the spool, and whether the handle is among those that write
// to them.
func (h *Handle) written() (up *spool.Upload, writing bool) {
	f := h.File
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Up, h.writing
}

// changed notes the outcome of a change, which it returns. One that failed before it
// touched the bytes of a finished file leaves that as it was accepted.
func (h *Handle) changed(up *spool.Upload, err error) error {
	if err != nil && up.Record().Closed {
		return err
	}
	h.wrote(up)
	if err != nil {
		return h.File.spoil(up, err)
	}
	return nil
}

// wrote notes that the bytes were changed.
func (h *Handle) wrote(up *spool.Upload) {
	f := h.File
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Up != up {
		return // archived meanwhile, with these bytes
	}
	f.happenedLocked(onWrite)
	if h.unclosed {
		return
	}
	h.perhaps = false
	if !h.writing {
		h.writing = true
		f.writing++
	}
}

// truncate sets the length of the file's bytes.
func (h *Handle) truncate(ctx context.Context, size int64) error {
	return h.edit(ctx, size == 0, func(up *spool.Upload) error { return up.Truncate(size) })
}

// WriteAt changes bytes of the file.
func (h *Handle) WriteAt(ctx context.Context, data []byte, off int64) (n int, err error) {
	err = h.edit(ctx, false, func(up *spool.Upload) (err error) {
		h.File.DoubtPages()
		if h.appends {
			off = up.Size() // the kernel sends one write of an inode at a time
		}
		n, err = up.WriteAt(data, off)
		return err
	})
	return n, err
}

// ReadStaged reads bytes of the file that are in the spool. It is false when there are none, or no
// more, because they were archived at this moment.
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

// ContentReader is what the handle reads of the document that nothing was written to, or
// whose bytes have been archived meanwhile.
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

// Sync makes the bytes durable on this machine. That they are archived is close's word.
func (h *Handle) Sync() error {
	up := h.File.Pending()
	if up == nil {
		return nil
	}
	if err := h.spoiled(); err != nil {
		return err
	}
	if err := up.Sync(); err != nil {
		return h.File.spoil(up, err)
	}
	return nil
}

// Closed notes that the thread pid has closed a descriptor of the handle, and reports whether that
// ends the file, which is to be finished then. The error is what close returns.
func (h *Handle) Closed(pid uint32, mounts *closing.Mounts) (ends bool, err error) {
	f := h.File
	if !h.writer {
		return false, nil
	}
	up, todo := f.unfinished()
	if !todo {
		return false, h.outcome()
	}
	if f.s.Async {
		up.BeginSync()
	}
	switch closing.Examine(pid, h.opener, f.Ino, f.mappable(), mounts) {
	case closing.More:
		return false, nil
	case closing.Unknown: // the end shows at release
		err := h.accept(up)
		h.perhapsEnded()
		return false, err
	case closing.Inherited:
		err := h.accept(up)
		h.ended() // until one of those writes
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

// Finish archives the file whose end closed has found. Its error is what close returns.
func (h *Handle) Finish(ctx context.Context) error {
	return h.File.s.Delivery.finish(ctx, h.File, false)
}

// Leave ends the handle. What no close could be told about is archived now.
func (h *Handle) Leave(ctx context.Context) {
	h.mu.Lock()
	if h.reader != nil {
		_ = h.reader.Close() // read only
		h.reader = nil
	}
	h.mu.Unlock()
	h.ended()
	if lastWriter := h.exit(); lastWriter {
		h.File.s.Delivery.endWriting(context.WithoutCancel(ctx), h.File)
	}
}

// accept makes what a close answers with success durable, although the end of the file is
// still to come: from here on it is not lost without a trace.
func (h *Handle) accept(up *spool.Upload) error {
	f := h.File
	if err := h.spoiled(); err != nil {
		return err
	}
	return f.accept(up)
}

// perhapsEnded notes a close of which cannot be told whether it was the handle's last.
func (h *Handle) perhapsEnded() {
	h.File.Mu.Lock()
	defer h.File.Mu.Unlock()
	h.perhaps = true
}

// errAborted is why a file fails that was being written when the kernel was parted from the mount.
var errAborted = errors.New("the mount was aborted while a program was writing it")

// CutOff fails a file that the handle was writing, after the connection to the kernel has ended:
// each program that ends a file by itself closes it before, which we are told.
func (h *Handle) CutOff() {
	f := h.File
	f.Mu.Lock()
	half := h.writing && !h.perhaps
	f.Mu.Unlock()
	if half {
		f.s.Delivery.abandon(f, errAborted.Error())
	}
}

// end ends the writing of the handle and reports whether nobody else writes: half of what
// others write is not to be archived. The bytes are accepted before it ends, so that no
// other close archives them while this one may still be told that it failed.
func (h *Handle) end(up *spool.Upload) (last bool, err error) {
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
func (h *Handle) amongOthers() bool {
	f := h.File
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if h.writing {
		return f.writing > 1
	}
	return f.writing > 0
}

// ended notes that the program has closed the handle.
func (h *Handle) ended() (others bool) {
	f := h.File
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
func (h *Handle) spoiled() error {
	f := h.File
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
func (h *Handle) outcome() error {
	f := h.File
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if h.writing && f.phase.ended() {
		return errFailed
	}
	return nil
}
