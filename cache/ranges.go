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
	"time"

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
	d.c.mu.Lock()
	defer d.c.unlock()
	d.c.discountLocked(r.v)
	r.v.progress.finish(ErrNotKept) // which sends readers to the ranges
	if r.v.file != nil {
		_ = r.v.file.Truncate(0) // if it fails, the last reader frees the space
	}
	if d.version == nil {
		d.settleLocked(r.v)
	}
	d.c.abandonLocked(d)
}

const (
	// batchSize and batchDelay: a batch is written when it has this many changes, or this long
	// after the first. A crash loses the changes that are not written.
	batchSize  = 256
	batchDelay = time.Second
	// maxPending bounds the changes that wait for a disk that fails or is slow.
	maxPending = 4096
)

// buffer is a write-behind buffer in front of a database: changes are kept in memory and
// written in the background, many in one transaction.
type buffer[K comparable, V any] struct {
	// write stores changes. When it fails they are written again with the next batch.
	write func(changes map[K]V) error

	mu sync.Mutex
	// pending changes wait for the next batch.
	pending map[K]V // +checklocks:mu
	// writing is the batch that is being written. The map itself never changes.
	writing map[K]V // +checklocks:mu

	// some and full tell the writer that there is a change, or a whole batch.
	some, full    chan struct{}
	stop, stopped chan struct{}
	stopOnce      sync.Once
}

// newBuffer starts the goroutine that writes.
func newBuffer[K comparable, V any](write func(map[K]V) error) *buffer[K, V] {
	b := &buffer[K, V]{
		write: write, pending: map[K]V{}, some: make(chan struct{}, 1), full: make(chan struct{}, 1),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go b.run()
	return b
}

// get returns the change of key that is not in the database yet.
func (b *buffer[K, V]) get(key K) (V, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	value, ok := b.pending[key]
	if !ok {
		value, ok = b.writing[key]
	}
	return value, ok
}

// put adds a change. A pending change of key is replaced if replaces returns true for it (nil:
// always). A full buffer takes no other key, unless must is set.
func (b *buffer[K, V]) put(key K, value V, must bool, replaces func(pending V) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch pending, ok := b.pending[key]; {
	case ok && replaces != nil && !replaces(pending), !ok && !must && len(b.pending) >= maxPending:
		return
	}
	b.pending[key] = value
	signal(b.some)
	if len(b.pending) >= batchSize {
		signal(b.full)
	}
}

func (b *buffer[K, V]) run() {
	defer close(b.stopped)
	timer := time.NewTimer(batchDelay)
	defer timer.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-b.some:
		}
		timer.Reset(batchDelay)
		select {
		case <-b.stop:
			return
		case <-b.full:
		case <-timer.C:
		}
		if err := b.flush(); err != nil {
			signal(b.some)
		}
	}
}

// flush writes what is pending. One goroutine calls it at a time.
func (b *buffer[K, V]) flush() error {
	b.mu.Lock()
	if len(b.pending) == 0 {
		b.mu.Unlock()
		return nil
	}
	b.writing, b.pending = b.pending, map[K]V{}
	changes := b.writing
	b.mu.Unlock()

	err := b.write(changes)

	b.mu.Lock()
	defer b.mu.Unlock()
	b.writing = nil
	for key, value := range changes {
		if _, newer := b.pending[key]; err != nil && !newer {
			b.pending[key] = value
		}
	}
	return err
}

// close stops the goroutine and writes what is pending. first is false for a second call, which does nothing.
func (b *buffer[K, V]) close() (first bool, err error) {
	b.stopOnce.Do(func() {
		close(b.stop)
		<-b.stopped
		first, err = true, b.flush()
	})
	return first, err
}

// signal leaves a token in c unless one is there.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

const (
	// partSize is the length of a part; the last one may be shorter.
	partSize = 1 << 20
	// farAhead is how far beyond the download a read must begin for its part to be fetched.
	// A program that reads in order is never that far ahead.
	farAhead = 4 << 20
	// maxParts is how many parts of a content are fetched at a time.
	maxParts = 2
)

// parts fetches parts of a content that readers want long before the download reaches them. They
// are written to the same file, where the download later writes the same bytes: all answers have
// the same strong ETag. Their bytes count in the cache once the download has reached them.
type parts struct {
	c     *Content
	fetch Fetch
	v     *version
	etag  string // the download may get another one
	// ctx ends with the download.
	ctx context.Context
	// slots holds a token for each part that is being fetched.
	slots chan struct{}

	mu sync.Mutex
	// all are the parts that were wanted, by their number.
	all map[int64]*part // +checklocks:mu
	// shown says that a part is in the file, where it can be read.
	shown bool // +checklocks:mu
	// closed says that no part is fetched or written any more.
	closed bool // +checklocks:mu
}

// part is in the file if done is closed and ok is set.
type part struct {
	done chan struct{}
	ok   bool
}

// newParts returns nil for a content that is small, or has no strong ETag.
func newParts(ctx context.Context, t *transfer) *parts {
	if t.v.size <= farAhead || !t.v.strong() {
		return nil
	}
	return &parts{
		c: t.c, fetch: t.fetch, v: t.v, etag: t.v.etag, ctx: ctx,
		slots: make(chan struct{}, maxParts), all: map[int64]*part{},
	}
}

// get waits for the parts with the bytes from off to end. False: wait for the download instead.
func (s *parts) get(ctx context.Context, off, end int64) bool {
	var wanted []*part
	for n := off / partSize; n*partSize < end; n++ {
		p := s.want(n)
		if p == nil {
			return false
		}
		wanted = append(wanted, p)
	}
	for _, p := range wanted {
		select {
		case <-p.done:
		case <-ctx.Done():
			return false
		}
		if !p.ok {
			return false
		}
	}
	return true
}

// want returns part n and fetches it unless that was done before; nil after close.
func (s *parts) want(n int64) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	p := s.all[n]
	if p == nil {
		p = &part{done: make(chan struct{})}
		s.all[n] = p
		s.c.running.Go(func() { // the download still counts, too
			defer close(p.done)
			if p.ok = s.receive(n); !p.ok {
				s.close()
			}
		})
	}
	return p
}

// receive fetches part n into the file. It fails, for instance, when the service ignores Range or has another content.
func (s *parts) receive(n int64) bool {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-s.ctx.Done():
		return false
	}
	want := Want{Offset: n * partSize, Length: min(partSize, s.v.size-n*partSize), Match: s.etag}
	bytes, err := s.v.part(s.ctx, s.fetch, want)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if _, err := s.v.file.WriteAt(bytes, want.Offset); err != nil {
		return false // on a full disk the download makes room
	}
	s.shown = true
	return true
}

// part requests a part of the content that has the strong ETag want.Match.
func (v *version) part(ctx context.Context, fetch Fetch, want Want) ([]byte, error) {
	answer, err := fetch(ctx, want)
	if err != nil {
		return nil, err
	}
	defer closeBody(answer)
	switch {
	case answer.ETag != want.Match, answer.Size >= 0 && answer.Size != v.size:
		return nil, ErrChanged
	case answer.Body == nil, answer.Offset != want.Offset:
		return nil, errAnswer
	}
	bytes := make([]byte, want.Length)
	if _, err := io.ReadFull(answer.Body, bytes); err != nil {
		return nil, &brokenError{err}
	}
	return bytes, nil
}

// close ends the fetching and reports whether a part can be read. s may be nil.
func (s *parts) close() (shown bool) {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.shown
}
