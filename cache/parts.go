package cache

import (
	"context"
	"io"
	"sync"
	"time"
)

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
