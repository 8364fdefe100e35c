package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/journal"
)

const (
	// logPart is which part of a file of the journal a content may have at most.
	logPart = 4
	// mostPieces is of how many pieces a content in the journal may be.
	mostPieces = 64
	// stretch is after how many bytes of a file the disk is told to begin to write them, so that the sync at the end of
	// a large one has not to wait for all of it.
	stretch = 8 << 20
)

// errSealed: the bytes may not change.
var errSealed = errors.New("sealed")

// content is the bytes of an upload, their account and their digest. They lie in the journal, as they were written, and
// in a file of their own once they are many. It knows nothing of the upload's states.
type content struct {
	id      string
	path    string // of the file
	journal *journal.Log
	budget  *budget           // which the bytes are counted against
	saw     func(error) error // Spool.saw
	log     logrus.FieldLogger
	most    int64 // up to which length in bytes the bytes lie in the journal
	early   bool  // the disk is to begin early to write a file

	mu sync.Mutex
	// size is in bytes. It is read without mu, too.
	// +checkatomic
	size   atomic.Int64 // +checklocks:mu
	digest digest       // +checklocks:mu
	// pieces are in the journal, and logged is how many bytes of them it took; none of a file.
	pieces pieces // +checklocks:mu
	logged int64  // +checklocks:mu
	// moved is the entry which says that the bytes are in the file; 0 while they are not.
	moved journal.Pos // +checklocks:mu
	// resized is the last entry that said the length in the journal; 0 if none of this run did.
	resized journal.Pos // +checklocks:mu
	// begun is up to where the disk was told to begin to write the file, and beginning says that it is being told.
	begun     int64 // +checklocks:mu
	beginning atomic.Bool
	// written is up to where something was written, and announced what it was when the length was last set beyond it.
	written   int64 // +checklocks:mu
	announced int64 // +checklocks:mu
	// sealed says that the bytes do not change.
	sealed bool // +checklocks:mu
	// promised says that somebody was told that the bytes are durable.
	promised bool // +checklocks:mu
	// changes counts the changes of the file, and durable those that were made durable with all
	// before. lost says that this has failed since the last one.
	changes int  // +checklocks:mu
	durable int  // +checklocks:mu
	named   bool // +checklocks:mu
	lost    bool // +checklocks:mu

	files sync.Mutex
	// file is nil while refs is 0, and while the bytes are in the journal.
	file *os.File // +checklocks:files
	// inFile says that they are in the file.
	inFile bool // +checklocks:files
	// refs counts who uses the bytes.
	refs int // +checklocks:files
	// gone says that it was removed: the bytes go with the last user.
	gone bool // +checklocks:files
}

// acquire keeps the bytes until release, and the file open if they are in one.
func (c *content) acquire() error {
	c.files.Lock()
	defer c.files.Unlock()
	if c.refs == 0 && c.gone {
		return ErrRemoved
	}
	if c.inFile && c.file == nil {
		f, err := durable.OpenFile(c.path, os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err != nil {
			return fmt.Errorf("its data cannot be opened: %w", err)
		}
		c.file = f
	}
	c.refs++
	return nil
}

// open returns the file, nil if the bytes are in the journal. The caller has acquired it.
func (c *content) open() *os.File {
	c.files.Lock()
	defer c.files.Unlock()
	return c.file
}

// close ends an acquire. The last one closes the file, and frees the bytes of a removed upload.
func (c *content) close() error {
	c.files.Lock()
	if c.refs == 0 {
		c.files.Unlock()
		return fmt.Errorf("close data: %w", os.ErrClosed)
	}
	c.refs--
	f, gone := c.file, c.gone
	if c.refs > 0 {
		c.files.Unlock()
		return nil
	}
	c.file = nil
	c.files.Unlock()
	if gone {
		c.free()
	}
	if f == nil {
		return nil
	}
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

// remove removes the file, and notes that the bytes are to go. They are free at once when nobody uses them.
func (c *content) remove() {
	c.files.Lock()
	c.gone = true
	unused, inFile := c.refs == 0, c.inFile
	c.files.Unlock()
	if inFile {
		if err := os.Remove(c.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			c.log.Warnf("the next start removes what is left of an upload: %v", err)
		}
	}
	if unused {
		c.free()
	}
}

// free says that nothing needs the bytes any more.
func (c *content) free() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.budget.add(-c.size.Load())
	c.setPieces(nil)
	if c.moved != 0 {
		c.journal.Release(c.moved)
		c.moved = 0
	}
}

// isInFile reports whether the bytes are in the file.
func (c *content) isInFile() bool {
	c.files.Lock()
	defer c.files.Unlock()
	return c.inFile
}

// seal forbids to change the bytes from now on, or allows it again.
func (c *content) seal(sealed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealed = sealed
}

func (c *content) ReadAt(p []byte, off int64) (int, error) {
	if err := c.acquire(); err != nil {
		return 0, err
	}
	defer c.release()
	if f := c.open(); f != nil {
		return f.ReadAt(p, off)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.open(); f != nil { // by now
		return f.ReadAt(p, off)
	}
	return c.readLogged(p, off)
}

// readLogged reads bytes that are in the journal.
// +checklocks:c.mu
func (c *content) readLogged(p []byte, off int64) (int, error) {
	n := min(int64(len(p)), c.size.Load()-off)
	if n <= 0 {
		return 0, io.EOF
	}
	if err := c.pieces.read(c.journal, p[:n], off); err != nil {
		return 0, err
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// current reads the bytes under mu.
// +checklocks:c.mu
func (c *content) current() io.ReaderAt {
	if f := c.open(); f != nil {
		return f
	}
	return underLock{c}
}

// underLock reads bytes that are in the journal for somebody who holds mu.
type underLock struct{ c *content }

// ReadAt implements io.ReaderAt.
// +checklocksignore
func (r underLock) ReadAt(p []byte, off int64) (int, error) { return r.c.readLogged(p, off) }

// writeAt writes, and counts what it wrote. The error is errSealed, or ENOSPC when there is no room for all of p.
func (c *content) writeAt(p []byte, off int64) (int, error) {
	if err := c.acquire(); err != nil {
		return 0, err
	}
	defer c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealed {
		return 0, errSealed
	}
	size, length := c.size.Load(), int64(len(p))
	grow := max(0, off+length-size)
	if err := c.saw(c.budget.take(length, grow)); err != nil {
		return 0, err
	}
	n, err := c.put(p, off)
	end := size
	if n > 0 {
		end = max(size, off+int64(n))
	}
	c.budget.done(length, grow, end-size)
	c.size.Store(end)
	c.written = max(c.written, off+int64(n))
	if behind := c.digest.wrote(p[:n], off); behind && c.isInFile() {
		go c.catchUp()
	}
	return n, c.saw(err)
}

// put writes bytes where they belong.
// +checklocks:c.mu
func (c *content) put(p []byte, off int64) (int, error) {
	length := int64(len(p))
	if !c.isInFile() && off+length <= c.most && c.logged+length <= 2*c.most && len(c.pieces) < mostPieces {
		w, err := c.journal.Append(journal.Entry{Key: c.id, Kind: isBytes, Arg: off, Body: p})
		if err != nil {
			return 0, err
		}
		c.logged += length
		c.setPieces(c.pieces.write(piece{off, length, w}))
		return len(p), nil
	}
	if err := c.moveToFile(); err != nil {
		return 0, err
	}
	f := c.open()
	c.changes++
	c.lost = false
	n, err := f.WriteAt(p, off)
	if c.early && off+int64(n)-c.begun >= stretch && c.beginning.CompareAndSwap(false, true) {
		go func() {
			c.beginSync()
			c.beginning.Store(false)
		}()
	}
	return n, err
}

// setPieces replaces the pieces, and releases the entries that none needs any more.
// +checklocks:c.mu
func (c *content) setPieces(next pieces) {
	before := c.pieces
	c.pieces = next
	for i, p := range before {
		if !before[:i].has(p.At) && !next.has(p.At) {
			c.journal.Release(p.At)
		}
	}
}

// moveToFile moves the bytes from the journal into the file, if they are not there already.
// +checklocks:c.mu
func (c *content) moveToFile() error {
	if c.isInFile() {
		return nil
	}
	f, err := durable.OpenFile(c.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	size := c.size.Load()
	_, err = io.Copy(f, io.NewSectionReader(c.current(), 0, size))
	if err == nil {
		err = f.Truncate(size) // holes at its end
	}
	if err == nil && c.promised {
		err = errors.Join(f.Sync(), durable.SyncDir(filepath.Dir(c.path)))
	}
	var w journal.Written
	if err == nil {
		w, err = c.journal.Append(journal.Entry{Key: c.id, Kind: isFile})
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(c.path))
	}
	c.moved = w.At
	c.changes++
	c.named = c.promised
	c.files.Lock()
	c.file, c.inFile = f, true
	c.files.Unlock()
	c.setPieces(nil)
	return nil
}

// truncate sets the length in bytes. It fails as writeAt does.
func (c *content) truncate(size int64) error {
	if err := c.acquire(); err != nil {
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
	if err := c.saw(c.resize(size)); err != nil {
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

// resize sets the length where the bytes are.
// +checklocks:c.mu
func (c *content) resize(size int64) error {
	if size > c.most {
		if err := c.moveToFile(); err != nil {
			return err
		}
	}
	if f := c.open(); f != nil {
		c.changes++
		c.lost = false
		return f.Truncate(size)
	}
	w, err := c.journal.Append(journal.Entry{Key: c.id, Kind: isSize, Arg: size, Void: true})
	if err == nil {
		c.resized = w.At
		c.setPieces(c.pieces.cut(size))
	}
	return err
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

// beginSync has the disk begin to write what it was not told of yet of the file.
func (c *content) beginSync() {
	if !c.early || !c.isInFile() || c.acquire() != nil { // removed: nobody waits
		return
	}
	defer c.release()
	c.mu.Lock()
	begun, end := c.begun, c.size.Load()
	c.begun = end
	c.mu.Unlock()
	if end > begun { // it may have been cut since
		durable.BeginSync(c.open(), begun, end-begun)
	}
}

// sync makes the file durable, if the bytes are in one and it is not yet. Those in the journal are with the record.
func (c *content) sync() error {
	if !c.isDirty() {
		return nil
	}
	if err := c.acquire(); err != nil {
		c.lose()
		return err
	}
	defer c.release()
	c.mu.Lock()
	seen, named := c.changes, c.named
	c.mu.Unlock()
	err := c.open().Sync()
	if err == nil && !named {
		err = durable.SyncDir(filepath.Dir(c.path))
	}
	if err != nil {
		c.lose()
		return fmt.Errorf("sync data: %w", c.saw(err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.durable, c.named = max(c.durable, seen), true
	return nil
}

// lose says that the bytes cannot be made durable.
func (c *content) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
}

// promise takes note that somebody is told that the bytes are durable.
func (c *content) promise() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.promised = true
}

// isDirty reports whether there is a file that is not durable.
func (c *content) isDirty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isInFile() && c.durable < c.changes
}

// isLost reports whether the bytes cannot be made durable, because that has failed.
func (c *content) isLost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// move appends anew the entries that are to be moved.
func (c *content) move(moves func(journal.Pos) bool) error {
	if err := c.acquire(); err != nil {
		return nil //nolint:nilerr // removed
	}
	defer c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moved != 0 && moves(c.moved) {
		w, err := c.journal.Append(journal.Entry{Key: c.id, Kind: isFile})
		if err != nil {
			return err
		}
		c.journal.Release(c.moved)
		c.moved = w.At
	}
	for _, p := range c.pieces {
		if !moves(p.At) {
			continue
		}
		body := make([]byte, p.size)
		if err := c.pieces.read(c.journal, body, p.off); err != nil {
			return err
		}
		w, err := c.journal.Append(journal.Entry{Key: c.id, Kind: isBytes, Arg: p.off, Body: body})
		if err != nil {
			return err
		}
		c.setPieces(c.pieces.write(piece{p.off, p.size, w}))
	}
	if c.resized != 0 && moves(c.resized) && !c.isInFile() {
		return c.resize(c.size.Load())
	}
	return nil
}

// rescue appends anew what a sync that failed has lost, until all is durable.
func (c *content) rescue() error {
	for lost := true; lost; {
		lost = false
		err := c.move(func(at journal.Pos) bool {
			is := c.journal.Lost(at)
			lost = lost || is
			return is
		})
		if err == nil && lost {
			err = c.journal.SyncAll()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sum returns the SHA-256, in hexadecimal, of the bytes, which are sealed.
func (c *content) sum() (string, error) {
	if err := c.acquire(); err != nil {
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
	return c.digest.sum(c.current(), c.size.Load())
}

// catchUp hashes what lies behind the writer of a file until there is little of it left.
func (c *content) catchUp() {
	if err := c.acquire(); err != nil {
		return // removed: nobody asks for its digest
	}
	defer c.release()
	buf := make([]byte, 128<<10)
	for c.catchUpOnce(c.open(), buf) {
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

// piece is bytes of a content that lie in one entry of the journal.
type piece struct {
	off, size int64 // in the content
	journal.Written
}

// pieces are in their order, and none covers another. What lies between them is zeros.
type pieces []piece

// write returns the pieces after p was written over what was there.
func (all pieces) write(p piece) pieces {
	end := p.off + p.size
	next := append(make(pieces, 0, len(all)+2), p)
	for _, was := range all {
		if n := min(was.off+was.size, p.off) - was.off; n > 0 {
			next = append(next, piece{was.off, n, was.Written})
		}
		if n := was.off + was.size - max(was.off, end); n > 0 {
			skip := was.size - n
			next = append(next, piece{was.off + skip, n, journal.Written{At: was.At, Bytes: was.Bytes + journal.Pos(skip)}})
		}
	}
	slices.SortFunc(next, func(a, b piece) int { return cmp.Compare(a.off, b.off) })
	return next
}

// cut returns what is left of the pieces when the content has size bytes.
func (all pieces) cut(size int64) (next pieces) {
	for _, p := range all {
		if p.size = min(p.size, size-p.off); p.size > 0 {
			next = append(next, p)
		}
	}
	return next
}

// has reports whether a piece lies in the entry at a place.
func (all pieces) has(at journal.Pos) bool {
	return slices.ContainsFunc(all, func(p piece) bool { return p.At == at })
}

// read reads bytes of the content that begin at off.
func (all pieces) read(log *journal.Log, p []byte, off int64) error {
	clear(p)
	for _, is := range all {
		from, to := max(is.off, off), min(is.off+is.size, off+int64(len(p)))
		if from >= to {
			continue
		}
		if err := log.ReadAt(p[from-off:to-off], is.Bytes+journal.Pos(from-is.off)); err != nil {
			return err
		}
	}
	return nil
}
