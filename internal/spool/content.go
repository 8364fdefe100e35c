package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/durable"
)

// stretch is after how many bytes the disk is told to begin to write them, so that the sync at
// the end of a large file has not to wait for all of it.
const stretch = 8 << 20

// errSealed: the bytes may not change.
var errSealed = errors.New("sealed")

// content is the data file of an upload: its bytes, their account and their digest. It knows
// nothing of the upload's states.
type content struct {
	path   string            // constant
	budget *budget           // which the bytes are counted against
	saw    func(error) error // Spool.saw
	log    logrus.FieldLogger

	mu sync.Mutex
	// size is in bytes. It is read without mu, too.
	// +checkatomic
	size   atomic.Int64 // +checklocks:mu
	digest digest       // +checklocks:mu
	// begun is up to where the disk was told to begin to write.
	begun int64 // +checklocks:mu
	// written is up to where something was written, and announced what it was when the length was last
	// set beyond it.
	written   int64 // +checklocks:mu
	announced int64 // +checklocks:mu
	// sealed says that the bytes do not change.
	sealed bool // +checklocks:mu
	// changes counts the changes of the bytes, and durable those that were made durable with all
	// before. lost says that this has failed since the last one.
	changes int  // +checklocks:mu
	durable int  // +checklocks:mu
	lost    bool // +checklocks:mu

	files sync.Mutex
	// file is nil while refs is 0.
	file *os.File // +checklocks:files
	// refs counts who uses file.
	refs int // +checklocks:files
	// gone says that it was removed: the bytes go with the last user.
	gone bool // +checklocks:files
}

// load says that the file has so many bytes, durable or not, of which the last were never written.
func (c *content) load(size, unwritten int64, durable bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size.Store(size)
	c.written = size - unwritten
	if c.changes = 1; durable {
		c.durable = 1
	}
}

// acquire opens the file, or shares the descriptor that is open.
func (c *content) acquire() (*os.File, error) {
	c.files.Lock()
	defer c.files.Unlock()
	if c.refs == 0 {
		if c.gone {
			return nil, ErrRemoved
		}
		f, err := durable.OpenFile(c.path, os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err != nil {
			return nil, fmt.Errorf("its data cannot be opened: %w", err)
		}
		c.file = f
	}
	c.refs++
	return c.file, nil
}

// close ends an acquire. The last one closes the file, and frees the bytes of a removed upload.
func (c *content) close() error {
	c.files.Lock()
	defer c.files.Unlock()
	if c.refs == 0 {
		return fmt.Errorf("close data: %w", os.ErrClosed)
	}
	c.refs--
	if c.refs > 0 {
		return nil
	}
	if c.gone {
		c.budget.add(-c.size.Load())
	}
	f := c.file
	c.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("close data: %w", err)
	}
	return nil
}

// release is close for the package's own uses.
func (c *content) release() {
	if err := c.close(); err != nil {
		c.log.Debug(err)
	}
}

// remove notes that the file is to go. Its bytes are free at once when nobody has it open.
func (c *content) remove() {
	c.files.Lock()
	defer c.files.Unlock()
	c.gone = true
	if c.refs == 0 {
		c.budget.add(-c.size.Load())
	}
}

// seal forbids to change the bytes from now on, or allows it again.
func (c *content) seal(sealed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealed = sealed
}

// ReadAt implements io.ReaderAt.
func (c *content) ReadAt(p []byte, off int64) (int, error) {
	f, err := c.acquire()
	if err != nil {
		return 0, err
	}
	defer c.release()
	return f.ReadAt(p, off)
}

// writeAt writes, and counts what it wrote. The error is errSealed, or ENOSPC when there is no
// room for all of p.
func (c *content) writeAt(p []byte, off int64) (int, error) {
	f, err := c.acquire()
	if err != nil {
		return 0, err
	}
	defer c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealed {
		return 0, errSealed
	}
	size := c.size.Load()
	grow := max(0, off+int64(len(p))-size)
	if err := c.saw(c.budget.take(int64(len(p)), grow)); err != nil {
		return 0, err
	}
	c.changes++
	c.lost = false
	n, err := f.WriteAt(p, off)
	end := size
	if n > 0 {
		end = max(size, off+int64(n))
	}
	c.budget.done(int64(len(p)), grow, end-size)
	c.size.Store(end)
	c.written = max(c.written, off+int64(n))
	if behind := c.digest.wrote(p[:n], off); behind {
		go c.catchUp()
	}
	if begun := c.begun; off+int64(n)-begun >= stretch {
		durable.BeginSync(f, begun, end-begun)
		c.begun = end
	}
	return n, c.saw(err)
}

// truncate sets the length in bytes. It fails as writeAt does.
func (c *content) truncate(size int64) error {
	f, err := c.acquire()
	if err != nil {
		return err
	}
	defer c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealed {
		return errSealed
	}
	old := c.size.Load()
	grow := max(0, size-old)
	if err := c.saw(c.budget.take(grow, grow)); err != nil {
		return err
	}
	c.changes++
	c.lost = false
	if err := c.saw(f.Truncate(size)); err != nil {
		c.budget.done(grow, grow, 0)
		return err
	}
	c.budget.done(grow, grow, size-old)
	c.size.Store(size)
	c.digest.cut(size)
	if c.written = min(c.written, size); size > old {
		c.announced = c.written
	}
	return nil
}

// unwritten is how many bytes at the end were announced and never written. Whoever sets a length before
// it writes means to write so much; one set behind the last write is the end of a sparse file.
func (c *content) unwritten() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.written > 0 && c.written == c.announced {
		return 0
	}
	return c.size.Load() - c.written
}

// beginSync has the disk begin to write what it was not told of yet.
func (c *content) beginSync() {
	f, err := c.acquire()
	if err != nil {
		return // removed: nobody waits
	}
	defer c.release()
	c.mu.Lock()
	begun, end := c.begun, c.size.Load()
	c.begun = end
	c.mu.Unlock()
	if end > begun { // it may have been cut since
		durable.BeginSync(f, begun, end-begun)
	}
}

// sync makes the bytes durable in place.
func (c *content) sync() error {
	f, err := c.acquire()
	if err != nil {
		c.lose()
		return err
	}
	defer c.release()
	seen := c.seen()
	if err := f.Sync(); err != nil {
		c.lose()
		return fmt.Errorf("sync data: %w", c.saw(err))
	}
	c.saved(seen)
	return nil
}

// lose says that the bytes cannot be made durable.
func (c *content) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
}

// seen counts the changes so far.
func (c *content) seen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// saved takes note that so many changes are durable.
func (c *content) saved(changes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.durable = max(c.durable, changes)
}

// isDirty reports whether there are bytes that are not durable.
func (c *content) isDirty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.durable < c.changes
}

// isLost reports whether the bytes cannot be made durable, because that has failed.
func (c *content) isLost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// sum returns the SHA-256, in hexadecimal, of the bytes, which are sealed.
func (c *content) sum() (string, error) {
	f, err := c.acquire()
	if err != nil {
		return "", err
	}
	defer c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.digest.busy != nil {
		busy := c.digest.busy
		c.mu.Unlock()
		<-busy
		c.mu.Lock()
	}
	return c.digest.sum(f, c.size.Load())
}

// catchUp hashes what lies behind the writer until there is little of it left.
func (c *content) catchUp() {
	f, err := c.acquire()
	if err != nil {
		return // removed: nobody asks for its digest
	}
	defer c.release()
	buf := make([]byte, 128<<10)
	for c.catchUpOnce(f, buf) {
	}
}

// catchUpOnce hashes what there is, by way of buf, and reports whether there is more by now.
func (c *content) catchUpOnce(f io.ReaderAt, buf []byte) (more bool) {
	c.mu.Lock()
	d := &c.digest
	if d.busy != nil || d.front-d.pos < digestBehind {
		c.mu.Unlock()
		return false
	}
	d.start()
	d.taken, d.busy, d.stale = d.front, make(chan struct{}), false
	sum, from, to := d.hash, d.pos, d.taken
	c.mu.Unlock()

	n, err := io.CopyBuffer(sum, io.NewSectionReader(f, from, to-from), buf)

	c.mu.Lock()
	defer c.mu.Unlock()
	if d.pos = to; d.stale || err != nil || n != to-from {
		d.hash, d.pos = nil, 0
	}
	close(d.busy)
	d.busy = nil
	return d.hash != nil && d.front-d.pos >= digestBehind
}
