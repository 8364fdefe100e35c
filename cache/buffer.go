package cache

import (
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

// close stops the goroutine and writes what is pending. first is false for a second call, which
// does nothing.
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
