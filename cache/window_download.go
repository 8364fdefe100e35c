package cache

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
)

// diskError says that the disk does not take a content.
type diskError struct{ cause error }

func (e *diskError) Error() string { return "write to the content cache: " + e.cause.Error() }
func (e *diskError) Unwrap() error { return e.cause }

// hasRoom reports whether the disk can take n bytes, if need be in the place of what nobody
// uses.
func (c *Content) hasRoom(n int64) bool {
	free, err := c.free()
	if err != nil || n <= free {
		return true // what the disk says counts when it is written
	}
	c.mu.Lock()
	defer c.unlock()
	for e := c.recent.Back(); e != nil && free < n; e = e.Prev() {
		if v := e.Value.(*version); v.refs == 0 { // the list holds nothing else
			free += v.counted
		}
	}
	return n <= free
}

// diskFree returns how many bytes may be written below dir.
func diskFree(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:gosec,unconvert // other types on other systems
}

// past shows the content of t, which the disk does not take, through a window until nobody
// reads it any more, and returns the error with which that ends. content is its answer, from
// the start on, or nil.
func (d *download) past(ctx context.Context, t *transfer, content *archive.Content, why *diskError) error {
	w := newWindow(t)
	defer w.drop()
	if content != nil {
		w.body = content.Body
	}
	if err := w.remember(t.v.file, t.have); err != nil {
		return err
	}
	if t.v.size < 0 {
		size, err := w.measure(ctx)
		if err != nil {
			return err
		}
		t.v.size = size
	}
	d.c.log.Infof("%s, %d bytes, is read without being kept: %v", d.key, t.v.size, why)
	d.show(w)
	err := w.serve(ctx)
	w.fail(fmt.Errorf("%s: %w", d.key, err))
	return err
}

// show lets readers look into the window. What is in the file goes.
func (d *download) show(w *window) {
	w.v.window.Store(w)
	w.v.progress.finish(ErrNotKept) // who waits for bytes looks into the window
	if w.v.file != nil {
		_ = w.v.file.Truncate(0) // else the disk gets it back with the last reader
	}
	d.c.mu.Lock()
	defer d.c.unlock()
	d.c.discountLocked(w.v)
	if d.version == nil {
		d.settleLocked(w.v)
	}
	d.c.abandonLocked(d)
}

// measure returns the length of a content that the service does not tell.
func (w *window) measure(ctx context.Context) (int64, error) {
	defer w.drop()
	for {
		if w.body == nil {
			if err := w.open(ctx, 0); err != nil {
				return 0, err
			}
		}
		n, err := io.Copy(io.Discard, w.body)
		w.drop()
		if err == nil {
			return n, nil
		}
		if w.tries >= maxTries {
			return 0, err
		}
		if err := w.rest(ctx); err != nil {
			return 0, err
		}
	}
}

// isBroken reports whether an answer ended early, and may be asked for again.
func isBroken(err error) bool {
	var broken *brokenError
	return errors.As(err, &broken)
}
