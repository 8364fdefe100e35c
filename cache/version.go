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

// maxCheck is the size in bytes up to which a file has a check. It is not synced: after a restart it is compared with
// its check before its first use, so damage by a crash is noticed and the content fetched again. A larger file is
// synced before it gets its name, and trusted if it has the right size.
const maxCheck = 64 << 20

func checkable(size int64) bool { return size <= maxCheck }

// touchEvery is how often at most the time of an open is written to a file.
const touchEvery = time.Minute

// errDamaged says that a cached file is not what its name says.
var errDamaged = errors.New("cached file is damaged")

// version is the content that a key had at one time, in one file. The file is complete, or a download is filling it.
type version struct {
	// fileName describes the version. Key and size never change once a reader has it. The rest belongs to the download
	// until the file is complete; after that only fetched, print and kept change, guarded by Content.mu.
	fileName
	progress progress
	// parts are fetched ahead of the download, nil for none. It never changes once a reader has the version.
	parts *parts
	// ranges serves the version in place of the file if the disk has no room for it, else nil.
	ranges atomic.Pointer[ranges]
	// serial never changes.
	serial uint64

	// checked guards the one check of a file that an earlier process left.
	checked sync.Once
	// unchecked says that the check is needed. It never changes.
	unchecked bool
	// damaged is the result of the check.
	damaged error

	// local is the file in which a service on this machine keeps the bytes, empty when they are
	// in a file of the cache. It never changes.
	local string

	// What follows is guarded by Content.mu.

	// temp is the path of the file until it is published, then empty.
	temp string
	// file is open while refs > 0, nil if none could be made. Whoever holds a reference may use it.
	file *os.File
	// refs counts readers, callers in Open, and a download that fills or validates the version.
	refs int
	// download fills the version, nil when it is complete.
	download *download
	// counted is the version's part of Content.used, in bytes.
	counted int64
	// element is the place in Content.recent, nil when Open does not find the version.
	element *list.Element
	// touched is the time of an open that was written to the file last.
	touched time.Time
	// keep says that the version is not evicted, and counts beside the limit. fileName.kept, what
	// the name says, follows once the file has its name.
	keep bool
}

func (c *Content) completeVersion(name fileName) *version {
	return &version{fileName: name, serial: c.serial.Add(1), progress: progress{have: name.size, done: true}}
}

// strong reports whether the ETag is one that only equal bytes have (RFC 9110, section 8.8.1).
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

// describeLocked changes what the name of v's file says of its age, its listing and whether it is kept.
// +checklocks:c.mu
func (v *version) describeLocked(c *Content, change func(*fileName)) {
	name := v.fileName
	change(&name)
	if v.local == "" && v.temp == "" {
		if err := os.Rename(c.path(v), name.path(c.dir)); err != nil {
			c.warnLocked(fmt.Errorf("describe a content anew: %w", err))
			return
		}
	}
	v.fetched, v.print, v.kept = name.fetched, name.print, name.kept // what else it says is read without mu, and stays
}

// publish gives the complete file of v its name.
func (v *version) publish(target string) error {
	if checkable(v.size) {
		return os.Rename(v.file.Name(), target)
	}
	return durable.Publish(v.file, target)
}

// holdLocked takes a reference to v, which is in the index, and notes the open. It returns false,
// and removes v, when the file is missing or has another size.
// +checklocks:c.mu
func (c *Content) holdLocked(v *version) bool {
	if v.refs == 0 {
		f, err := openSized(c.path(v), v.size)
		if err != nil {
			if v.local == "" {
				c.damagedLocked(v, err)
			} else { // the service removed it
				c.removeLocked(v)
			}
			return false
		}
		v.file = f
	}
	v.refs++
	c.recent.MoveToFront(v.element)
	c.touchLocked(v)
	return true
}

// damagedLocked removes v, whose file is missing or damaged.
// +checklocks:c.mu
func (c *Content) damagedLocked(v *version, err error) {
	c.warnLocked(fmt.Errorf("%s is dropped: %w", v.key, err))
	c.stats.Damaged++
	c.removeLocked(v)
}

// openSized opens the file of path for reading if it has that size.
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

// touchLocked writes the time of an open to the file, for the LRU order after a restart.
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

// releaseLocked gives a reference back. With the last one the file is closed, and removed if it is not to be kept.
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
	case v.size > c.limit && v.local == "" && !v.keep:
		c.removeLocked(v)
	}
	c.evictLocked(excessLocked(c))
}

// sound reports whether v, which the caller holds, is undamaged. A damaged version is removed and released.
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
