package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
)

const (
	// blockSize is the length of the ranges that are requested; the last one may be shorter.
	blockSize = 4 << 20
	// maxBlocks is how many blocks of a content are in memory, besides those that a reader waits for.
	maxBlocks = 4
)

// errNoRanges says that a content can neither be stored nor be read range by range.
var errNoRanges = fmt.Errorf("%w, and the service sends no ranges of it: %w", ErrNotKept, syscall.ENOSPC)

// ranges serves a content that the disk has no room for. Each block is requested when it is read, and the last ones
// stay in memory. All are of the same content: the ETag is strong, or there is only one block.
type ranges struct {
	c     *Content
	fetch Fetch
	v     *version
	// ctx ends with the last reader.
	ctx context.Context

	mu sync.Mutex
	// blocks are requested or in memory, the last used one last.
	blocks []*block // +checklocks:mu
	// closed says that no block is requested any more.
	closed bool // +checklocks:mu
}

// block is a part of a content. bytes and err are set when ready is closed.
type block struct {
	number int64
	ready  chan struct{}
	bytes  []byte
	err    error
}

// read reads all of p, from off on.
func (r *ranges) read(ctx context.Context, p []byte, off int64) error {
	for len(p) > 0 {
		number := off / blockSize
		b, err := r.block(number)
		if err != nil {
			return err
		}
		select {
		case <-b.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
		if b.err != nil {
			return fmt.Errorf("%s: %w", r.v.key, b.err)
		}
		n := copy(p, b.bytes[off-number*blockSize:])
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// block returns a block, and requests it unless it is there.
func (r *ranges) block(number int64) (*block, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, fmt.Errorf("%s: %w", r.v.key, context.Canceled)
	}
	for i, b := range r.blocks {
		if b.number == number {
			r.blocks = append(slices.Delete(r.blocks, i, i+1), b)
			return b, nil
		}
	}
	if len(r.blocks) == maxBlocks {
		r.blocks = slices.Delete(r.blocks, 0, 1) // those who wait for it have it
	}
	b := &block{number: number, ready: make(chan struct{})}
	r.blocks = append(r.blocks, b)
	r.c.running.Go(func() { // the download still counts, too
		defer close(b.ready)
		if b.bytes, b.err = r.receive(number); b.err != nil {
			r.drop(b)
		}
	})
	return b, nil
}

// drop forgets a block that could not be received, so that the next read requests it again.
func (r *ranges) drop(failed *block) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocks = slices.DeleteFunc(r.blocks, func(b *block) bool { return b == failed })
}

func (r *ranges) receive(number int64) (received []byte, err error) {
	want := Want{Offset: number * blockSize, Length: min(blockSize, r.v.size-number*blockSize), Match: r.v.etag}
	err = r.persist(func() (err error) {
		received, err = r.v.part(r.ctx, r.fetch, want)
		return err
	})
	return received, withoutRanges(err)
}

// withoutRanges turns the answer of a service that has none.
func withoutRanges(err error) error {
	kind := archive.KindOf(err)
	if errors.Is(err, errAnswer) || kind == archive.KindInvalid || kind == archive.KindProtocol {
		return fmt.Errorf("%w (%v)", errNoRanges, err) //nolint:errorlint // its Kind is not the reader's concern
	}
	return err
}

// persist calls f again while the service is away, unless it has waited for long.
func (r *ranges) persist(f func() error) error {
	for tries := 1; ; tries++ {
		err := f()
		if tries > maxTries || !archive.Away(err) && !isBroken(err) || waitedLong(err) || r.c.pause(r.ctx, backoff.After(tries)) != nil {
			return err
		}
	}
}

func (r *ranges) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// begin finds out how the content can be read: in one block, or by ranges. answer is the whole content, or nil.
func (r *ranges) begin(t *transfer, answer *archive.Content) error {
	if r.v.size > blockSize {
		closeBody(answer)
		if !r.v.strong() {
			return errNoRanges
		}
		return nil
	}
	only := &block{ready: make(chan struct{})}
	err := r.persist(func() (err error) {
		only.bytes, err = r.whole(answer)
		answer = nil
		return err
	})
	switch {
	case err != nil:
		return err
	case len(only.bytes) > blockSize:
		return r.measure()
	}
	came := make([]byte, t.have) // and may have been read
	if t.have > 0 {
		if _, err := r.v.file.ReadAt(came, 0); err != nil {
			return fmt.Errorf("read from the content cache: %w", err)
		}
	}
	if !bytes.HasPrefix(only.bytes, came) {
		return ErrChanged
	}
	if r.v.size < 0 {
		r.v.size = int64(len(only.bytes))
	}
	close(only.ready)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocks = []*block{only}
	return nil
}

// whole reads the whole content, which is requested if there is no answer. Of one that announces
// no length and is longer than a block it returns more than a block.
func (r *ranges) whole(answer *archive.Content) ([]byte, error) {
	if answer == nil {
		var err error
		if answer, err = r.fetch(r.ctx, Want{}); err != nil {
			return nil, err
		}
		if answer.Body == nil || answer.Offset != 0 {
			closeBody(answer)
			return nil, errAnswer
		}
	}
	defer closeBody(answer)
	received, err := io.ReadAll(io.LimitReader(answer.Body, blockSize+1))
	switch {
	case err != nil:
		return nil, &brokenError{err}
	case r.v.size >= 0 && int64(len(received)) < r.v.size:
		return nil, &brokenError{io.ErrUnexpectedEOF}
	case r.v.size >= 0 && int64(len(received)) > r.v.size:
		return nil, ErrLength
	}
	return received, nil
}

// measure learns the length of a content that is longer than a block from the answer for a range.
func (r *ranges) measure() error {
	if !r.v.strong() {
		return errNoRanges
	}
	answer, err := r.fetch(r.ctx, Want{Offset: blockSize, Length: 1, Match: r.v.etag})
	closeBody(answer)
	switch {
	case err != nil:
		return withoutRanges(err)
	case answer.ETag != r.v.etag:
		return ErrChanged
	case answer.Offset != blockSize || answer.Size < 0:
		return errNoRanges
	}
	r.v.size = answer.Size
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

// serveRanges serves the content of t, which the disk has no room for, by ranges until its last
// reader closes. It always returns an error. answer is the whole content, or nil.
func (d *download) serveRanges(ctx context.Context, t *transfer, answer *archive.Content, why *diskError) error {
	r := &ranges{c: t.c, fetch: t.fetch, v: t.v, ctx: ctx}
	if err := r.begin(t, answer); err != nil {
		return err
	}
	d.c.log.Infof("%s, %d bytes, is read without being kept: %v", d.key, t.v.size, why)
	d.show(r)
	<-ctx.Done()
	r.close()
	return ctx.Err()
}

// show lets readers use the ranges, and empties the file.
func (d *download) show(r *ranges) {
	r.v.ranges.Store(r)
	r.v.progress.finish(ErrNotKept) // which sends readers to the ranges
	if r.v.file != nil {
		_ = r.v.file.Truncate(0) // if it fails, the last reader frees the space
	}
	d.c.mu.Lock()
	defer d.c.unlock()
	d.c.discountLocked(r.v)
	if d.version == nil {
		d.settleLocked(r.v)
	}
	d.c.abandonLocked(d)
}
