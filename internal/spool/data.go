package spool

import (
	"fmt"
	"io"
	"math"
	"os"
	"syscall"

	"github.com/archivefs/archivefs/internal/durable"
)

// stretch is after how many bytes the disk is told to begin to write them, so that the sync at
// the end of a large file has not to wait for all of it.
const stretch = 8 << 20

// Open keeps the data open until Close, so that reads and writes in between need no
// descriptor of their own. An upload that nobody has open holds no descriptor.
func (u *Upload) Open() error {
	_, err := u.content.acquire()
	return err
}

// Close ends one Open. After Remove the last one frees the bytes.
func (u *Upload) Close() error {
	freed, err := u.content.release()
	if freed {
		u.spool.budget.add(-u.Size())
	}
	return err
}

// release is Close for the package's own uses.
func (u *Upload) release() {
	if err := u.Close(); err != nil {
		u.spool.log.WithField("upload", u.id).Debug(err)
	}
}

// Size is the length of the data in bytes.
func (u *Upload) Size() int64 { return u.content.size.Load() }

// DataPath is the file that holds the data. It is the caller's to read, and after
// confirmation to move away.
func (u *Upload) DataPath() string { return u.content.path }

// ReadAt implements io.ReaderAt.
func (u *Upload) ReadAt(p []byte, off int64) (int, error) {
	f, err := u.content.acquire()
	if err != nil {
		return 0, err
	}
	defer u.release()
	n, err := f.ReadAt(p, off)
	if err != nil && err != io.EOF { //nolint:errorlint // io.ReaderAt returns io.EOF itself
		return n, fmt.Errorf("spool: %w", err)
	}
	return n, err
}

// WriteAt implements io.WriterAt in state created; else the error is a *StateError. Where
// the budget or the disk has no room for all of p nothing is written and the error is
// ENOSPC. Writing to a local file makes it unfinished until it is kept or committed; where
// there is no room it stays finished.
func (u *Upload) WriteAt(p []byte, off int64) (int, error) {
	switch {
	case off < 0:
		return 0, fmt.Errorf("spool: write at %d: %w", off, syscall.EINVAL)
	case off > math.MaxInt64-int64(len(p)):
		return 0, fmt.Errorf("spool: write at %d: %w", off, syscall.EFBIG)
	case len(p) == 0:
		return 0, nil
	}
	if err := u.unfinish(int64(len(p)), off+int64(len(p))); err != nil {
		return 0, err
	}
	f, err := u.content.acquire()
	if err != nil {
		return 0, err
	}
	defer u.release()
	u.content.mu.Lock()
	defer u.content.mu.Unlock()
	if u.content.sealed {
		return 0, u.stateError("write to")
	}
	return u.writeLocked(f, p, off)
}

// writeLocked writes and keeps account. The caller holds content.mu.
func (u *Upload) writeLocked(f *os.File, p []byte, off int64) (int, error) {
	size := u.Size()
	grow := max(0, off+int64(len(p))-size)
	if err := u.spool.saw(u.spool.budget.take(int64(len(p)), grow)); err != nil {
		return 0, fmt.Errorf("spool: %w", err)
	}
	n, err := f.WriteAt(p, off)
	_ = u.spool.saw(err) // returned below
	end := size
	if n > 0 {
		end = max(size, off+int64(n))
	}
	u.spool.budget.done(int64(len(p)), grow, end-size)
	u.content.size.Store(end)
	if behind := u.content.digest.wrote(p[:n], off); behind {
		go u.catchUp()
	}
	if begun := u.content.begun; off+int64(n)-begun >= stretch {
		durable.BeginSync(f, begun, end-begun)
		u.content.begun = end
	}
	if err != nil {
		return n, fmt.Errorf("spool: %w", err)
	}
	return n, nil
}

// BeginSync has the disk begin to write the data, so that a Commit which makes it durable
// waits for less.
func (u *Upload) BeginSync() {
	f, err := u.content.acquire()
	if err != nil {
		return // removed: nobody waits
	}
	defer u.release()
	c := &u.content
	c.mu.Lock()
	begun, end := c.begun, c.size.Load()
	c.begun = end
	c.mu.Unlock()
	if end > begun { // it may have been cut since
		durable.BeginSync(f, begun, end-begun)
	}
}

// Truncate sets the length of the data in bytes; what is added reads as zeros. It fails
// as WriteAt does. Where there is no room a local file stays finished.
func (u *Upload) Truncate(size int64) error {
	if size < 0 {
		return fmt.Errorf("spool: truncate to %d: %w", size, syscall.EINVAL)
	}
	if err := u.unfinish(max(0, size-u.Size()), size); err != nil {
		return err
	}
	f, err := u.content.acquire()
	if err != nil {
		return err
	}
	defer u.release()
	c := &u.content
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealed {
		return u.stateError("truncate")
	}
	old := c.size.Load()
	grow := max(0, size-old)
	if err := u.spool.saw(u.spool.budget.take(grow, grow)); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if err := u.spool.saw(f.Truncate(size)); err != nil {
		u.spool.budget.done(grow, grow, 0)
		return fmt.Errorf("spool: %w", err)
	}
	u.spool.budget.done(grow, grow, size-old)
	c.size.Store(size)
	c.digest.cut(size)
	return nil
}

// Sync makes data and record survive a crash of the machine.
func (u *Upload) Sync() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.removed || u.broken != nil:
		return nil
	case u.rec.Load().State != Created:
		return u.secureLocked()
	}
	if err := u.spool.fault(PointSync); err != nil {
		return err
	}
	if err := u.syncData(); err != nil {
		return err
	}
	if err := u.spool.fault(PointSynced); err != nil {
		return err
	}
	r := u.rec.Load().clone()
	return u.storeLocked(&r, theMachine)
}

// syncData makes the data survive a crash of the machine.
func (u *Upload) syncData() error {
	f, err := u.content.acquire()
	if err != nil {
		return err
	}
	defer u.release()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("spool: sync data: %w", u.spool.saw(err))
	}
	return nil
}
