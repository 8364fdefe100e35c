package cache

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// Errors of the content cache.
var (
	// ErrChanged: the content became another one while it was downloaded.
	ErrChanged = errors.New("content changed while it was read")
	// ErrLength: the service sent more bytes than it had announced.
	ErrLength = errors.New("content is longer than announced")
	// ErrTooLarge: the content is larger than the whole cache may be.
	ErrTooLarge = errors.New("content is larger than the cache")
	// ErrNotKept: the disk does not take the content, which can be read all the same.
	ErrNotKept = errors.New("the disk of the content cache has no room for it")
)

// Key names a content.
type Key struct {
	Document       archive.ID // or of a preview the page
	Representation archive.Representation
}

// String names the key in errors and logs.
func (k Key) String() string {
	return fmt.Sprintf("document %d (%s)", k.Document, k.Representation)
}

// Want is what a download asks for, as in archive.ContentRequest.
type Want struct {
	// Offset is the first byte wanted; the answer may begin at 0 all the same.
	Offset int64
	// Length is how many bytes are wanted from Offset on, 0 for all.
	Length int64
	// Match is the ETag that an answer from Offset on must have.
	Match string
	// NoneMatch is the ETag of what the cache has; Offset is 0 then.
	NoneMatch string
}

// Fetch asks the service for a content. It is called outside of locks, never twice at a
// time for one download, with a context that outlives the caller of Open.
type Fetch func(ctx context.Context, want Want) (*archive.Content, error)

// Options configure a Content.
type Options struct {
	// Dir is the cache's own directory, created when it is not there. One process at a
	// time uses it.
	Dir string
	// Limit bounds the bytes of all files, running downloads included.
	Limit int64
	// Local names the file in which a service on this machine keeps the bytes of a SHA-256, in
	// hexadecimal, which never change; empty where it does not. The ETags of the service are
	// these sums then. nil for a service elsewhere.
	Local func(sha256 string) (path string)
	Log   logrus.FieldLogger
	// Now is the clock, time.Now when nil; Log may be nil too.
	Now func() time.Time
}

// Content is a cache of document bytes on disk.
//
// Files lie in 256 sub-directories and describe themselves by their names; there is no
// index on disk. The least recently opened file goes first when the limit is reached. A
// file in use stays: when it is replaced or removed its readers keep its bytes, which
// count until the last of them has closed it. A content larger than the limit is served
// from a file that goes with its last reader, and one that the disk does not take is read
// through a window in memory, fetched as it is read.
type Content struct {
	dir   string
	limit int64
	local func(sha256 string) (path string) // nil for a service elsewhere
	log   logrus.FieldLogger
	now   func() time.Time
	// pause waits between two tries of a download. It ends early with ctx's error.
	pause func(ctx context.Context, d time.Duration) error
	// write is (*os.File).WriteAt.
	write func(f *os.File, p []byte, off int64) (int, error)
	// free returns how many bytes the disk can take.
	free func() (int64, error)

	// closing ends every download; running counts them.
	closing context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	// mu is released by unlock alone. It is taken before a version's progress.mu.
	mu sync.Mutex
	// versions holds what an Open of a key finds.
	versions map[Key]*version // +checklocks:mu
	// recent orders versions, the last opened first.
	recent *list.List // +checklocks:mu
	// downloads holds the ones that an Open joins and that will be kept.
	downloads map[Key]*download // +checklocks:mu
	// locals is how many of versions lie in files of the service's.
	locals int // +checklocks:mu
	// used is the sum of all version.counted.
	used int64 // +checklocks:mu
	// serial is the last one given out.
	serial uint64 // +checklocks:mu
	// stats are the counters.
	stats ContentStats // +checklocks:mu
	// trash is what unlock sees to.
	trash trash // +checklocks:mu
}

// trash is what is not done under a lock: to remove and close files, which can be slow,
// and to log.
type trash struct {
	paths    []string
	files    []*os.File
	warnings []error
}

// warnLocked has err logged by unlock.
// +checklocks:c.mu
func (c *Content) warnLocked(err error) {
	c.trash.warnings = append(c.trash.warnings, fmt.Errorf("content cache: %w", err))
}

// unlock releases mu and then does away with what was thrown out under it.
// +checklocksrelease:c.mu
func (c *Content) unlock() {
	t := c.trash
	c.trash = trash{}
	c.mu.Unlock()
	for _, f := range t.files {
		_ = f.Close() // what was written is synced or thrown away
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

// Close ends the running downloads, whose readers get an error, and waits for them.
// Readers of complete files go on. Later calls of Open fail with os.ErrClosed.
func (c *Content) Close() error {
	c.mu.Lock()
	c.stop()
	c.unlock()
	c.running.Wait()
	return nil
}
