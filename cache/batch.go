package cache

import (
	"sync"
	"time"
)

// A database is written when this many changes are new, or this long after the first. A mount
// that is killed and starts again while the service is away has what is older.
const (
	batchSize  = 256
	batchDelay = time.Second
)

// batch has changes written in the background, many at a time.
type batch struct {
	flush func() error
	// some and full tell the writer that there is something, or a batch, to write.
	some, full chan struct{}
	stop       chan struct{}
	stopOnce   sync.Once
	stopped    chan struct{}
}

// newBatch starts the writer, which calls flush. What fails is tried again with the next
// batch.
func newBatch(flush func() error) *batch {
	b := &batch{
		flush: flush, some: make(chan struct{}, 1), full: make(chan struct{}, 1),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go b.write()
	return b
}

func (b *batch) write() {
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

// note says that so many changes wait now.
func (b *batch) note(waiting int) {
	signal(b.some)
	if waiting >= batchSize {
		signal(b.full)
	}
}

// end stops the writer and reports whether this is the first call.
func (b *batch) end() (first bool) {
	b.stopOnce.Do(func() {
		first = true
		close(b.stop)
		<-b.stopped
	})
	return first
}

// signal leaves a message in c unless one is there.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
