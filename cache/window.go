package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
)

const (
	// blockSize is the length of a block; the last one may be shorter.
	blockSize = 1 << 20
	// maxBlocks is how many blocks of a content are in memory, besides those that a reader
	// waits for.
	maxBlocks = 16
	// maxSkip is how many blocks of an answer are skipped rather than sending another request,
	// and how many are prefetched.
	maxSkip = 4
	// idleFor is how long an answer is kept open while nobody reads.
	idleFor = 5 * time.Second
)

// window serves a content that the disk has no room for. It keeps the blocks that were read last
// in memory. One goroutine (serve) fetches the blocks that readers wait for: with a strong ETag
// it requests the content from the wanted block on, else all of it. A block that is fetched
// again must be the same.
type window struct {
	c     *Content
	fetch Fetch
	v     *version

	// What follows belongs to the goroutine.

	// body is the answer that is being read, nil for none; at is its next block.
	body io.ReadCloser
	at   int64
	// whole says that requests are for the whole content: the service ignores Range, or has no
	// strong ETag.
	whole bool
	// sums are the checksums of the blocks that were fetched.
	sums map[int64]uint32
	// begun is the beginning of block begunAt, of which the rest was not fetched yet.
	begun   []byte
	begunAt int64
	tries   int
	// timedOut says that the last answer timed out before the end of a block.
	timedOut bool

	// demand has a token when a reader waits for a block.
	demand chan struct{}

	mu sync.Mutex
	// blocks are in memory; order has their numbers, the last used last.
	blocks map[int64][]byte // +checklocks:mu
	order  []int64          // +checklocks:mu
	// wants counts the readers that wait for a block.
	wants map[int64]int // +checklocks:mu
	// last is the block that was wanted last.
	last int64 // +checklocks:mu
	// changed is closed when blocks or err change.
	changed chan struct{} // +checklocks:mu
	// err is why nothing can be read.
	err error // +checklocks:mu
}

func newWindow(t *transfer) *window {
	return &window{
		c: t.c, fetch: t.fetch, v: t.v, whole: !t.v.strong(), begunAt: -1, last: -1, demand: make(chan struct{}, 1),
		blocks: map[int64][]byte{}, wants: map[int64]int{}, changed: make(chan struct{}), sums: map[int64]uint32{},
	}
}

// read reads all of p, from off on.
func (w *window) read(ctx context.Context, p []byte, off int64) error {
	for len(p) > 0 {
		n := off / blockSize
		b, err := w.block(ctx, n)
		if err != nil {
			return err
		}
		done := copy(p, b[off-n*blockSize:])
		p, off = p[done:], off+int64(done)
	}
	return nil
}

// block waits for block n.
func (w *window) block(ctx context.Context, n int64) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wants[n]++
	w.last = n
	defer w.leaveLocked(n)
	for {
		if b, there := w.blocks[n]; there {
			w.useLocked(n)
			signal(w.demand) // prefetch the next one
			return b, nil
		}
		if w.err != nil {
			return nil, w.err
		}
		changed := w.changed
		signal(w.demand)
		w.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		w.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
}

// +checklocks:w.mu
func (w *window) leaveLocked(n int64) {
	if w.wants[n]--; w.wants[n] == 0 {
		delete(w.wants, n)
	}
}

// useLocked makes block n the last used one.
// +checklocks:w.mu
func (w *window) useLocked(n int64) {
	if i := slices.Index(w.order, n); i >= 0 {
		w.order = slices.Delete(w.order, i, i+1)
	}
	w.order = append(w.order, n)
}

// show adds block n, and evicts others.
func (w *window) show(n int64, b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blocks[n] = b
	w.useLocked(n)
	for i := 0; i < len(w.order) && len(w.order) > maxBlocks; {
		old := w.order[i]
		if w.wants[old] > 0 {
			i++
			continue
		}
		delete(w.blocks, old)
		w.order = slices.Delete(w.order, i, i+1)
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// fail makes every read fail from now on.
func (w *window) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	close(w.changed)
	w.changed = make(chan struct{})
}

// end is the number of blocks.
func (w *window) end() int64 { return (w.v.size + blockSize - 1) / blockSize }

// serve fetches the blocks that readers wait for and prefetches the next ones, until ctx ends or
// the content cannot be fetched.
func (w *window) serve(ctx context.Context) error {
	defer w.closeAnswer()
	idle := time.NewTimer(idleFor)
	defer idle.Stop()
	for {
		if n := w.next(); n >= 0 {
			if err := w.get(ctx, n); err != nil {
				return err
			}
			idle.Reset(idleFor)
			continue
		}
		select {
		case <-w.demand:
		case <-idle.C:
			w.closeAnswer()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// next is the block to fetch, -1 for none: of the wanted blocks the one that the current answer
// reaches soonest, else the first; if none is wanted, the block after the last one read.
func (w *window) next() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	near, first := int64(-1), int64(-1)
	for n := range w.wants {
		if _, there := w.blocks[n]; there {
			continue
		}
		if first < 0 || n < first {
			first = n
		}
		if w.follows(n) && (near < 0 || n < near) {
			near = n
		}
	}
	switch {
	case near >= 0:
		return near
	case first >= 0:
		return first
	case w.body != nil && w.at < w.end() && w.at > w.last && w.at <= w.last+maxSkip:
		return w.at
	}
	return -1
}

// follows reports whether the current answer brings block n sooner than another request would.
func (w *window) follows(n int64) bool {
	return w.body != nil && n >= w.at && (n <= w.at+maxSkip || w.whole)
}

// get fetches block n, and the blocks before it that come with the same answer. It resumes a
// broken answer as transfer does.
func (w *window) get(ctx context.Context, n int64) error {
	for {
		if !w.follows(n) {
			if err := w.open(ctx, n); err != nil {
				return err
			}
		}
		b, err := w.receive()
		if err != nil {
			w.closeAnswer()
			late := archive.KindOf(err) == archive.KindTimeout
			if w.tries >= maxTries || !isBroken(err) || late && w.timedOut {
				return err
			}
			w.timedOut = late
			if rerr := w.rest(ctx); rerr != nil && ctx.Err() == nil {
				return err // nobody shall wait now
			} else if rerr != nil {
				return rerr
			}
			continue
		}
		w.tries, w.timedOut = 0, false
		at := w.at
		w.at++
		if err := w.known(at, b); err != nil {
			return err
		}
		if at > n-maxSkip {
			w.show(at, b)
		}
		if at == n {
			return nil
		}
	}
}

// open requests the content from block n on, or all of it.
func (w *window) open(ctx context.Context, n int64) error {
	w.closeAnswer()
	for {
		want := Want{}
		if !w.whole {
			want = Want{Offset: n * blockSize, Match: w.v.etag}
		}
		content, err := w.fetch(ctx, want)
		if err == nil {
			err = w.admit(content, want)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, errors.Is(err, ErrChanged), waitedLong(err):
			return err
		case archive.Away(err) && w.tries < maxTries:
			if rerr := w.rest(ctx); rerr != nil && ctx.Err() == nil {
				return err // nobody shall wait now
			} else if rerr != nil {
				return rerr
			}
		case want.Offset > 0 && !archive.Away(err): // the service has no parts
			w.whole = true
		default:
			return err
		}
	}
}

// rest waits before another attempt.
func (w *window) rest(ctx context.Context) error {
	w.tries++
	return w.c.pause(ctx, backoff.After(w.tries))
}

// admit makes content the current answer. A service that ignores Range answers from the start.
func (w *window) admit(content *archive.Content, want Want) error {
	var err error
	switch {
	case content.Body == nil || content.Offset != 0 && content.Offset != want.Offset:
		err = errAnswer
	case content.Size >= 0 && w.v.size >= 0 && content.Size != w.v.size, content.Offset > 0 && content.ETag != w.v.etag:
		err = ErrChanged
	}
	if err != nil {
		closeBody(content)
		return err
	}
	w.body, w.at = content.Body, content.Offset/blockSize
	w.whole = w.whole || content.Offset < want.Offset
	return nil
}

// closeAnswer closes the current answer.
func (w *window) closeAnswer() {
	if w.body != nil {
		_ = w.body.Close() // the rest is not needed
		w.body = nil
	}
}

// receive reads the next block of the current answer.
func (w *window) receive() ([]byte, error) {
	left := w.v.size - w.at*blockSize
	b := make([]byte, min(blockSize, left))
	if _, err := io.ReadFull(w.body, b); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, &brokenError{err}
	}
	if left <= blockSize {
		if n, _ := io.ReadFull(w.body, make([]byte, 1)); n > 0 {
			return nil, ErrLength
		}
		w.closeAnswer()
	}
	return b, nil
}

// known returns ErrChanged when block n differs from what was fetched before.
func (w *window) known(n int64, b []byte) error {
	sum := crc32.Checksum(b, castagnoli)
	before, came := w.sums[n]
	if came && before != sum || n == w.begunAt && !bytes.HasPrefix(b, w.begun) {
		return ErrChanged
	}
	w.sums[n] = sum
	return nil
}

// remember records the first have bytes of the content, which readers may have read from f.
func (w *window) remember(f *os.File, have int64) error {
	for n := int64(0); n*blockSize < have; n++ {
		b := make([]byte, min(blockSize, have-n*blockSize))
		if _, err := f.ReadAt(b, n*blockSize); err != nil {
			return fmt.Errorf("read from the content cache: %w", err)
		}
		if len(b) < blockSize {
			w.begun, w.begunAt = b, n
			continue
		}
		if err := w.known(n, b); err != nil {
			return err
		}
	}
	return nil
}

// diskError says that the disk has no room for a content.
type diskError struct{ cause error }

func (e *diskError) Error() string { return "write to the content cache: " + e.cause.Error() }
func (e *diskError) Unwrap() error { return e.cause }

// hasRoom reports whether the disk has room for n bytes, once unused contents are evicted.
func (c *Content) hasRoom(n int64) bool {
	free, err := c.free()
	if err != nil || n <= free {
		return true // the write will show
	}
	c.mu.Lock()
	defer c.unlock()
	for e := c.recent.Back(); e != nil && free < n; e = e.Prev() {
		if v := e.Value.(*version); v.refs == 0 && !v.keep { // the list holds nothing else
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

// serveWindow serves the content of t, which the disk has no room for, through a window until its
// last reader closes. It always returns an error. content is the answer, from the start on, or nil.
func (d *download) serveWindow(ctx context.Context, t *transfer, content *archive.Content, why *diskError) error {
	w := newWindow(t)
	defer w.closeAnswer()
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

// show lets readers use the window, and empties the file.
func (d *download) show(w *window) {
	w.v.window.Store(w)
	w.v.progress.finish(ErrNotKept) // which sends readers to the window
	if w.v.file != nil {
		_ = w.v.file.Truncate(0) // if it fails, the last reader frees the space
	}
	d.c.mu.Lock()
	defer d.c.unlock()
	d.c.discountLocked(w.v)
	if d.version == nil {
		d.settleLocked(w.v)
	}
	d.c.abandonLocked(d)
}

// measure reads the whole content to learn its length.
func (w *window) measure(ctx context.Context) (int64, error) {
	defer w.closeAnswer()
	for {
		if w.body == nil {
			if err := w.open(ctx, 0); err != nil {
				return 0, err
			}
		}
		n, err := io.Copy(io.Discard, w.body)
		w.closeAnswer()
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
