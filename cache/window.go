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

	"github.com/archivefs/archivefs/archive"
)

// A window on a content that the disk has no room for.
const (
	// blockSize is how many bytes a block has; the last one may have fewer.
	blockSize = 1 << 20
	// maxBlocks is how many blocks of a content are in memory, beside those that somebody
	// waits for.
	maxBlocks = 16
	// maxSkip is how many blocks of an answer are passed over rather than to ask for another
	// part, and how many are fetched ahead of who reads.
	maxSkip = 4
	// idleFor is how long an answer is kept open that nobody reads.
	idleFor = 5 * time.Second
)

// window shows a content of which nothing is kept but the blocks that were read last, in
// memory. One goroutine fetches what readers wait for (serve). With a strong ETag it asks
// for the part from there on; else for all of it. What comes again must be what came before.
type window struct {
	c     *Content
	fetch Fetch
	v     *version

	// What follows is the goroutine's alone.

	// body is the answer that is being read, nil for none, and at the number of the block that
	// comes next.
	body io.ReadCloser
	at   int64
	// whole says that all of the content is asked for, whatever part is wanted: the service has no
	// parts, or no strong ETag by which they would be of the same bytes.
	whole bool
	// sums are those of the blocks that came.
	sums map[int64]uint32
	// begun is the beginning of a block that was shown before the block was there, and
	// begunAt its number.
	begun   []byte
	begunAt int64
	tries   int
	// timedOut says that the last answer was not read to the end of a block in time.
	timedOut bool

	// demand has a token when somebody waits for a block.
	demand chan struct{}

	mu sync.Mutex
	// blocks are in memory, and order has their numbers, the last used last.
	blocks map[int64][]byte // +checklocks:mu
	order  []int64          // +checklocks:mu
	// wants counts who waits for a block, by its number.
	wants map[int64]int // +checklocks:mu
	// last is the number of the block that was wanted last.
	last int64 // +checklocks:mu
	// changed is closed at the next change.
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

// block waits for the block of that number.
func (w *window) block(ctx context.Context, n int64) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wants[n]++
	w.last = n
	defer w.leaveLocked(n)
	for {
		if b, there := w.blocks[n]; there {
			w.useLocked(n)
			w.ask() // for what comes behind it
			return b, nil
		}
		if w.err != nil {
			return nil, w.err
		}
		changed := w.changed
		w.ask()
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

// leaveLocked counts out a caller who wanted a block.
// +checklocks:w.mu
func (w *window) leaveLocked(n int64) {
	if w.wants[n]--; w.wants[n] == 0 {
		delete(w.wants, n)
	}
}

// ask wakes the goroutine.
func (w *window) ask() {
	select {
	case w.demand <- struct{}{}:
	default:
	}
}

// useLocked notes that a block was used.
// +checklocks:w.mu
func (w *window) useLocked(n int64) {
	if i := slices.Index(w.order, n); i >= 0 {
		w.order = slices.Delete(w.order, i, i+1)
	}
	w.order = append(w.order, n)
}

// show puts a block into the window, in the place of others.
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

// fail ends the window for those who read.
func (w *window) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	close(w.changed)
	w.changed = make(chan struct{})
}

// end is the number behind that of the last block.
func (w *window) end() int64 { return (w.v.size + blockSize - 1) / blockSize }

// serve fetches what readers wait for, and a little of what comes behind it, until ctx ends,
// whose error it returns, or the content cannot be had.
func (w *window) serve(ctx context.Context) error {
	defer w.drop()
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
			w.drop()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// next is the number of the block to fetch, -1 for none: of those that are waited for the one
// that the answer comes to soonest, else the first; else what comes behind the last one.
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

// follows reports whether the block is had sooner from the answer that is being read than
// from another one.
func (w *window) follows(n int64) bool {
	return w.body != nil && n >= w.at && (n <= w.at+maxSkip || w.whole)
}

// get fetches the block of that number, by way of those in front of it where they come, too. A
// transfer that breaks is taken up again as that into a file is.
func (w *window) get(ctx context.Context, n int64) error {
	for {
		if !w.follows(n) {
			if err := w.open(ctx, n); err != nil {
				return err
			}
		}
		b, err := w.receive()
		if err != nil {
			w.drop()
			late := archive.KindOf(err) == archive.KindTimeout
			if w.tries >= maxTries || !isBroken(err) || late && w.timedOut {
				return err
			}
			w.timedOut = late
			if err := w.rest(ctx); err != nil {
				return err
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

// open asks for the content from the block of that number on, or for all of it.
func (w *window) open(ctx context.Context, n int64) error {
	w.drop()
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
		case ctx.Err() != nil, errors.Is(err, ErrChanged):
			return err
		case archive.KindOf(err) == archive.KindTimeout, archive.KindOf(err) == archive.KindBusy: // fetch has waited for long
			return err
		case archive.Away(err) && w.tries < maxTries:
			if err := w.rest(ctx); err != nil {
				return err
			}
		case want.Offset > 0 && !archive.Away(err): // such a part cannot be had
			w.whole = true
		default:
			return err
		}
	}
}

// rest waits before another try.
func (w *window) rest(ctx context.Context) error {
	w.tries++
	return w.c.pause(ctx, pauseAfter(w.tries))
}

// admit makes content the answer that is being read. A service without parts answers from the
// start.
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

// drop closes the answer that is being read.
func (w *window) drop() {
	if w.body != nil {
		_ = w.body.Close() // nothing more is wanted from it
		w.body = nil
	}
}

// receive reads the next block of the answer.
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
		w.drop()
	}
	return b, nil
}

// known returns ErrChanged when a block is not what came before.
func (w *window) known(n int64, b []byte) error {
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	before, came := w.sums[n]
	if came && before != sum || n == w.begunAt && !bytes.HasPrefix(b, w.begun) {
		return ErrChanged
	}
	w.sums[n] = sum
	return nil
}

// remember takes note of the first bytes of the content, which may have been read from f.
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
