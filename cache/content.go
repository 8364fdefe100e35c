// Package cache keeps answers of the archive service, so that each is requested once.
//
// Listings holds answers in memory: folder children, document lists, inboxes. It is an LRU with a bound in entries and
// a ttl, serves any number of concurrent callers of a key with one fetch, and lets the callers' own changes invalidate
// or patch exactly one answer. With a Store, such as Known, it has answers while the service is away, even after a
// restart.
//
// Content holds document bytes on disk with a bound in bytes. A reader follows a running download and gets exactly the
// service's bytes or an error. Only complete contents are kept; they survive a restart.
//
// Facts holds the lengths of contents, learned once and kept for ever.
//
// Known holds the last listings on disk, with a bound in bytes. They are never trusted while the service answers.
//
// Any number of goroutines may use them. They hold no lock while they call a fetch, and wrap
// its errors without reclassifying them.
package cache

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// Errors of the content cache.
var (
	// ErrChanged: the content changed at the service while it was downloaded.
	ErrChanged = errors.New("content changed while it was read")
	// ErrLength: the service sent more bytes than it had announced.
	ErrLength = errors.New("content is longer than announced")
	// ErrTooLarge: the content is larger than the whole cache may be.
	ErrTooLarge = errors.New("content is larger than the cache")
	// ErrNotKept: the disk has no room for the content. It can still be read if the service sends
	// ranges of it, or it is small.
	ErrNotKept = errors.New("the disk of the content cache has no room for it")
)

// Key names a content.
type Key struct {
	Document       archive.ID // for a preview, the page
	Representation archive.Representation
}

// String names the key in errors and logs.
func (k Key) String() string {
	return fmt.Sprintf("document %s (%s)", k.Document, k.Representation)
}

// Want is what a download asks for, as in archive.ContentRequest.
type Want struct {
	// Offset is the first byte wanted; the answer may still begin at 0.
	Offset int64
	// Length is how many bytes are wanted from Offset on, 0 for all.
	Length int64
	// Match is the ETag that an answer from Offset on must have.
	Match string
	// NoneMatch is the ETag of the cached content; Offset is 0 then.
	NoneMatch string
}

// Fetch asks the service for a content, with a context that outlives the caller of Open. The
// cache holds no lock while it calls Fetch.
type Fetch func(ctx context.Context, want Want) (*archive.Content, error)

// Options configure a Content.
type Options struct {
	// Dir is the cache's own directory, created when missing. One process at a time uses it.
	Dir string
	// Limit bounds the bytes of all files that are not kept (Content.Keep), running downloads included.
	Limit int64
	// Local returns the file in which a service on this machine keeps the content with this SHA-256 (hexadecimal),
	// empty for none. Such a file never changes, and the service's ETags are these sums. With later, the file need not
	// be there yet: until then the content is asked for. nil for a service elsewhere.
	Local func(sha256 string, later bool) (path string)
	Log   logrus.FieldLogger
	// Now is the clock, time.Now when nil; Log may be nil too.
	Now func() time.Time
	// Sleep waits between two attempts of a download, or until ctx ends; nil for retry.Sleep.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Content is a cache of document bytes on disk.
//
// Files lie in 256 sub-directories and are described by their names; there is no index on disk. At the limit the least
// recently opened file is evicted first; a file in use never, nor one that is kept (kept.go). Readers of a file that is
// replaced or removed keep its bytes, which count until the last one closes. A content larger than the limit is served
// from a file that is removed with its last reader; one that the disk has no room for, range by range from memory
// (ranges.go).
type Content struct {
	// Kept is for those who keep contents.
	Kept *Keeping

	dir   string
	limit int64
	local func(sha256 string, later bool) (path string) // nil for a service elsewhere
	log   logrus.FieldLogger
	now   func() time.Time
	// pause is Options.Sleep.
	pause func(ctx context.Context, d time.Duration) error
	// write is (*os.File).WriteAt.
	write func(f *os.File, p []byte, off int64) (int, error)
	// free returns how many bytes the disk has room for.
	free func() (int64, error)

	// closing ends every download; running counts them.
	closing context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	serial  atomic.Uint64 // of the newest version

	// mu is released by unlock alone. It is taken before a version's progress.mu.
	mu sync.Mutex
	// versions is what Open finds.
	versions map[Key]*version // +checklocks:mu
	// recent orders versions, the last opened first.
	recent *list.List // +checklocks:mu
	// downloads are those that Open joins and that will be kept.
	downloads map[Key]*download // +checklocks:mu
	// locals counts the versions whose bytes are in a file of the service (local.go).
	locals int // +checklocks:mu
	// used is the sum of all version.counted.
	used  int64        // +checklocks:mu
	stats ContentStats // +checklocks:mu
	trash trash        // +checklocks:mu
}

// trash is work that unlock does once mu is released, because it can be slow: it removes and closes files, and logs.
type trash struct {
	paths    []string
	files    []*os.File
	warnings []error
}

// +checklocks:c.mu
func (c *Content) warnLocked(err error) {
	c.trash.warnings = append(c.trash.warnings, fmt.Errorf("content cache: %w", err))
}

// unlock releases mu and then empties the trash.
// +checklocksrelease:c.mu
func (c *Content) unlock() {
	t := c.trash
	c.trash = trash{}
	c.mu.Unlock()
	for _, f := range t.files {
		_ = f.Close() // it was synced, or is thrown away
	}
	for _, path := range t.paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.warnings = append(t.warnings, fmt.Errorf("content cache: %w", err))
		}
	}
	for _, err := range t.warnings {
		c.log.Warn(err)
	}
}

// Close cancels the running downloads, whose readers get an error, and waits for them.
// Complete files can still be read. Later calls of Open fail with os.ErrClosed.
func (c *Content) Close() error {
	c.mu.Lock()
	c.stop()
	c.unlock()
	c.running.Wait()
	return nil
}

// Trust says which content Open returns without asking the service.
type Trust struct {
	// Print is the fingerprint of an archived document: its content is trusted as long as lists show that. 0
	// for a content that may change at any time.
	Print archive.Fingerprint
	// MaxAge is, without a Print, how long a content is trusted after it was fetched or validated.
	MaxAge time.Duration
}

// Open returns a reader of the content of key: of the cached file, or of a download that it
// starts or joins. It returns as soon as the exact size is known: when the answer begins and
// announces its length, else when the download is complete.
//
// A cached content that t does not trust is validated first, by its ETag if it has one. If it changed, the new content
// replaces it once it is complete; readers of the old one keep the old bytes. A download that t does not trust is not
// joined: another one begins, and the older one serves its readers and is not kept.
//
// A download belongs to no single caller: when ctx ends, Open returns ctx's error and the download goes on. When the
// last reader closes, a download is completed, unless less than half of an announced length is there; then it is
// cancelled. A broken download is resumed, or begun again when the service cannot tell that the content is still the
// same. Errors of fetch are returned wrapped and not remembered.
func (c *Content) Open(ctx context.Context, key Key, t Trust, fetch Fetch) (*Reader, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v, d, err := c.find(ctx, key, t, fetch)
		if err != nil {
			return nil, err
		}
		if v == nil {
			if v, err = c.await(ctx, d); err != nil {
				return nil, err
			}
		}
		if c.sound(v) {
			return &Reader{c: c, v: v, file: v.file}, nil
		}
	}
}

// find returns a version of key, held, or a download to wait for, which counts the caller.
func (c *Content) find(ctx context.Context, key Key, t Trust, fetch Fetch) (*version, *download, error) {
	c.mu.Lock()
	defer c.unlock()
	if c.closing.Err() != nil {
		return nil, nil, fmt.Errorf("content cache: %w", os.ErrClosed)
	}
	cached := c.versions[key]
	if cached != nil && c.trusted(cached.fetched, cached.print, t) && c.holdLocked(cached) {
		if cached.print == archive.Unlisted {
			cached.describeLocked(c, func(n *fileName) { n.print = t.Print })
		}
		c.stats.Hits++
		return cached, nil, nil
	}
	c.stats.Misses++
	d := c.downloads[key]
	if d == nil || !c.trusted(d.began, d.print, t) {
		d = c.startLocked(ctx, key, t.Print, fetch)
	}
	if d.version != nil {
		d.version.refs++ // open: the download has a reference of its own
		return d.version, nil, nil
	}
	d.waiting++
	return nil, d, nil
}

// trusted reports whether t trusts a content that was fetched or validated at that time, when its
// document had that fingerprint. A time in the future is not trusted. A content that was uploaded from
// here is that of the first list that shows its document.
func (c *Content) trusted(at time.Time, print archive.Fingerprint, t Trust) bool {
	if t.Print != 0 {
		return print == t.Print || print == archive.Unlisted
	}
	age := c.now().Sub(at)
	return age >= 0 && age <= t.MaxAge
}

// await waits until d knows its version and returns it, held.
func (c *Content) await(ctx context.Context, d *download) (*version, error) {
	select {
	case <-d.ready:
		if d.err != nil {
			return nil, d.err
		}
		return d.version, nil // settleLocked took the reference
	case <-ctx.Done():
		c.mu.Lock()
		defer c.unlock()
		switch {
		case d.version != nil:
			c.releaseLocked(d.version)
		case d.err == nil:
			d.waiting--
			c.abandonLocked(d)
		}
		return nil, ctx.Err()
	}
}

// ContentStats counts what the cache holds, and what it did since the start.
type ContentStats struct {
	Files     int    `json:"files"`
	Local     int    `json:"local,omitempty"` // contents that are read from files of the service, and not copied
	Bytes     int64  `json:"bytes"`           // of all files, running downloads and files in use included
	Limit     int64  `json:"limit"`
	Kept      int    `json:"kept,omitempty"`       // contents that are not evicted
	KeptBytes int64  `json:"kept-bytes,omitempty"` // of their files: a part of Bytes that Limit does not bound
	Hits      uint64 `json:"hits"`                 // opens served by a cached file alone
	Misses    uint64 `json:"misses"`               // opens that started or joined a download
	Downloads uint64 `json:"downloads"`            // started, validations included
	Renewed   uint64 `json:"renewed"`              // validations that found the content unchanged
	Resumed   uint64 `json:"resumed"`              // broken downloads resumed
	Evicted   uint64 `json:"evicted"`              // files removed to make room
	Damaged   uint64 `json:"damaged"`              // files removed because they were damaged
}

// Stats returns the current figures.
func (c *Content) Stats() ContentStats {
	c.mu.Lock()
	defer c.unlock()
	s := c.stats
	s.Files, s.Local, s.Bytes, s.Limit = len(c.versions)-c.locals, c.locals, c.used, c.limit
	s.Kept, s.KeptBytes = c.Kept.files, c.Kept.bytes
	return s
}

// Usage returns the bytes of all files that are not kept, running downloads and files in use included, and their bound.
func (c *Content) Usage() (used, limit int64) {
	c.mu.Lock()
	defer c.unlock()
	return c.used - c.Kept.bytes, c.limit
}

// Lookup returns the length of the complete cached content of key, of any age, if there is
// one. It does not count as a use.
func (c *Content) Lookup(key Key) (int64, bool) {
	c.mu.Lock()
	defer c.unlock()
	v := c.versions[key]
	if v == nil {
		return 0, false
	}
	return v.size, true
}

// Trusted returns the length of the content that Open with t returns without asking the
// service, if there is one and its length is known.
func (c *Content) Trusted(key Key, t Trust) (int64, bool) {
	c.mu.Lock()
	defer c.unlock()
	if v := c.versions[key]; v != nil && c.trusted(v.fetched, v.print, t) {
		return v.size, true
	}
	if d := c.downloads[key]; d != nil && d.version != nil && c.trusted(d.began, d.print, t) { // Open joins it
		return d.version.size, true
	}
	return 0, false
}

// indexLocked makes v the version that Open finds, in place of an older one.
// +checklocks:c.mu
func (c *Content) indexLocked(v *version) {
	if old := c.versions[v.key]; old != nil {
		c.removeLocked(old)
	}
	c.versions[v.key] = v
	v.element = c.recent.PushFront(v)
	arriveLocked(c, v)
}

// removeLocked takes v out of the index and removes its file. Its holders keep the bytes, which
// count until v is released. A second call does nothing.
// +checklocks:c.mu
func (c *Content) removeLocked(v *version) {
	if v.element == nil {
		return
	}
	c.recent.Remove(v.element)
	v.element = nil
	delete(c.versions, v.key)
	departLocked(c, v)
	if v.local != "" {
		c.locals-- // the file is the service's
		return
	}
	c.trash.paths = append(c.trash.paths, c.path(v))
	if v.refs == 0 {
		c.discountLocked(v)
	}
}

// discountLocked takes v's bytes out of the count.
// +checklocks:c.mu
func (c *Content) discountLocked(v *version) {
	c.used -= v.counted
	if v.keep {
		c.Kept.bytes -= v.counted
	}
	v.counted = 0
}

// countLocked adds n bytes to v's part of the count and makes room for them.
// +checklocks:c.mu
func (c *Content) countLocked(v *version, n int64) {
	v.counted += n
	c.used += n
	if v.keep {
		c.Kept.bytes += n
	}
	c.evictLocked(excessLocked(c))
}

// evictLocked removes versions that are neither in use nor kept, the least recently opened first, until it
// has freed at least want bytes, and returns how many it freed.
// +checklocks:c.mu
func (c *Content) evictLocked(want int64) int64 {
	var freed int64
	for e := c.recent.Back(); e != nil && freed < want; {
		v := e.Value.(*version) // the list holds nothing else
		e = e.Prev()            // before v's element leaves the list
		if v.refs > 0 || v.local != "" || v.keep {
			continue
		}
		freed += v.counted
		c.stats.Evicted++
		c.removeLocked(v)
	}
	return freed
}

// Free makes room on a full disk: it evicts at least want bytes, if there are so many that are
// neither in use nor kept. False means that there was nothing to evict.
func (c *Content) Free(want int64) bool {
	c.mu.Lock()
	defer c.unlock()
	return c.evictLocked(want) > 0
}

// Remove forgets the content of key. Its readers keep their bytes; a download in flight serves them and is not kept.
func (c *Content) Remove(key Key) {
	c.mu.Lock()
	defer c.unlock()
	forgetLocked(c, key)
}
