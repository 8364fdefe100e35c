package cache

import (
	"container/list"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/internal/durable"
)

// maxCheck is the size in bytes up to which a file from an earlier process is compared with
// its check before its first use: those need not be synced, because one that a crash of the
// machine damaged is noticed and fetched again. Larger ones are trusted by their size: they
// are synced before they get their name, and have no check.
const maxCheck = 64 << 20

// checkable reports whether a file of that size is checked before its first use.
func checkable(size int64) bool { return size <= maxCheck }

// touchEvery is how often at most the time of the last open is written to a file.
const touchEvery = time.Minute

// errDamaged says that a cached file is not what its name says.
var errDamaged = errors.New("cached file is damaged")

// version is the bytes that a key had at the service at one time, in one file. The file
// is complete, or a download is filling it.
type version struct {
	// fileName describes the version. The download that fills it has it alone until the
	// file is complete, but for the key and the size, which never change once a reader
	// has the version. Then only fetched and final change, guarded by Content.mu.
	fileName
	progress progress
	// aside fetches parts ahead of the download; nil where there are none. It never changes
	// once a reader has the version.
	aside *aside
	// window shows the version instead of the file, which cannot take it; nil where it can.
	window atomic.Pointer[window]
	// serial never changes.
	serial uint64

	// checked guards the one check of a file that an earlier process left.
	checked sync.Once
	// unchecked says that the check is needed. It never changes.
	unchecked bool
	// damaged is the result of the check.
	damaged error

	// local is the file of a service on this machine that holds the bytes, empty when they are in
	// one of the cache's own. It never changes.
	local string
	// temp is where the file lies while it is not published, empty once it lies where its
	// name says. Guarded by Content.mu.
	temp string
	// file is open while refs > 0, nil where none could be made. Guarded by Content.mu, and free
	// to use for who holds a reference.
	file *os.File
	// refs counts readers, a download that fills or revalidates the version, and openers
	// on their way. Guarded by Content.mu.
	refs int
	// download fills the version, nil when it is complete. Guarded by Content.mu.
	download *download
	// counted is the version's part of Content.used, in bytes. Guarded by Content.mu.
	counted int64
	// element is the place in Content.recent, nil when the version is not (or no longer)
	// what an Open of its key finds. Guarded by Content.mu.
	element *list.Element
	// touched is the last written time of an open. Guarded by Content.mu.
	touched time.Time
}

// strong reports whether the ETag says that two answers are of the same bytes (RFC 9110, 8.8.1).
func (v *version) strong() bool { return v.etag != "" && !strings.HasPrefix(v.etag, "W/") }

// path returns where the file of v lies. Called with mu held.
func (c *Content) path(v *version) string {
	if v.local != "" {
		return v.local
	}
	if v.temp != "" {
		return v.temp
	}
	return v.path(c.dir)
}

// publish gives the complete file of v its name.
func (v *version) publish(target string) error {
	if checkable(v.size) {
		return os.Rename(v.file.Name(), target)
	}
	return durable.Publish(v.file, target)
}

// holdLocked takes a reference to v, which is in the index, and notes that it was opened. When the file is gone or
// has another size v is dropped, and the answer is false.
// +checklocks:c.mu
func (c *Content) holdLocked(v *version) bool {
	if v.refs == 0 {
		f, err := openSized(c.path(v), v.size)
		switch {
		case err != nil && v.local != "": // the service does not have it any more
			c.dropLocked(v)
			return false
		case err != nil:
			c.damagedLocked(v, err)
			return false
		}
		v.file = f
	}
	v.refs++
	c.recent.MoveToFront(v.element)
	c.touchLocked(v)
	return true
}

// damagedLocked drops v, whose file is not what it should be.
// +checklocks:c.mu
func (c *Content) damagedLocked(v *version, err error) {
	c.warnLocked(fmt.Errorf("%s is dropped: %w", v.key, err))
	c.stats.Damaged++
	c.dropLocked(v)
}

// openSized opens the file of path for reading when it has that size.
func openSized(path string, size int64) (*os.File, error) {
	f, err := os.Open(path) //nolint:gosec // a name that the cache has given
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != size {
		err = fmt.Errorf("%w: %d bytes instead of %d", errDamaged, info.Size(), size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// touchLocked writes the time of an open to the file, for the order after a restart.
// +checklocks:c.mu
func (c *Content) touchLocked(v *version) {
	if v.local != "" {
		return
	}
	now := c.now()
	if age := now.Sub(v.touched); age >= 0 && age < touchEvery {
		return
	}
	v.touched = now
	if err := os.Chtimes(c.path(v), now, now); err != nil {
		c.warnLocked(err)
	}
}

// releaseLocked gives a reference back. With the last one the file is closed, and what is
// not to be kept goes.
// +checklocks:c.mu
func (c *Content) releaseLocked(v *version) {
	v.refs--
	if v.download != nil {
		c.abandonLocked(v.download)
	}
	if v.refs > 0 {
		return
	}
	c.trash.files = append(c.trash.files, v.file)
	v.file = nil
	switch {
	case v.element == nil:
		c.discountLocked(v)
	case v.size > c.limit && v.local == "":
		c.dropLocked(v)
	}
	c.evictLocked()
}

// sound reports whether the bytes of v, which the caller holds, are what was published. A
// damaged version is dropped and released.
func (c *Content) sound(v *version) bool {
	if !v.unchecked {
		return true
	}
	v.checked.Do(func() { v.damaged = v.check.verify(io.NewSectionReader(v.file, 0, maxCheck+1)) })
	if v.damaged == nil {
		return true
	}
	c.mu.Lock()
	defer c.unlock()
	if v.element != nil {
		c.damagedLocked(v, v.damaged)
	}
	c.releaseLocked(v)
	return false
}
