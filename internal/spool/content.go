package spool

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// content is the data file of an upload.
type content struct {
	size atomic.Int64 // in bytes; changed under mu

	mu     sync.Mutex
	digest digest // guarded by mu
	begun  int64  // up to where the disk was told to begin to write it; guarded by mu
	// sealed says that the bytes do not change; guarded by mu.
	sealed bool

	files sync.Mutex
	path  string   // constant
	file  *os.File // nil while refs is 0; guarded by files
	refs  int      // who uses file; guarded by files
	gone  bool     // removed; the bytes go with the last user; guarded by files
}

// acquire opens the file, or shares the descriptor that is open.
func (c *content) acquire() (*os.File, error) {
	c.files.Lock()
	defer c.files.Unlock()
	if c.refs == 0 {
		if c.gone {
			return nil, ErrRemoved
		}
		f, err := os.OpenFile(c.path, os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err != nil {
			return nil, fmt.Errorf("spool: open data: %w", err)
		}
		c.file = f
	}
	c.refs++
	return c.file, nil
}

// release ends an acquire; the last one closes the file. freed reports whether that
// freed the bytes of a removed upload.
func (c *content) release() (freed bool, err error) {
	c.files.Lock()
	defer c.files.Unlock()
	if c.refs == 0 {
		return false, fmt.Errorf("spool: close data: %w", os.ErrClosed)
	}
	c.refs--
	if c.refs > 0 {
		return false, nil
	}
	f := c.file
	c.file = nil
	if err := f.Close(); err != nil {
		return c.gone, fmt.Errorf("spool: close data: %w", err)
	}
	return c.gone, nil
}

// remove notes that the file is to go; freed reports whether nobody has it open, so that
// its bytes go at once.
func (c *content) remove() (freed bool) {
	c.files.Lock()
	defer c.files.Unlock()
	c.gone = true
	return c.refs == 0
}

// seal makes writing an error from now on, or allowed again, and reports what it was
// before.
func (c *content) seal(sealed bool) (before bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.sealed = c.sealed, sealed
	return before
}
