package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// write is the goroutine that brings the buffer to disk. What fails is tried again with
// the next batch.
func (f *Facts) write() {
	defer close(f.stopped)
	timer := time.NewTimer(factsDelay)
	defer timer.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-f.some:
		}
		timer.Reset(factsDelay)
		select {
		case <-f.stop:
			return
		case <-f.full:
		case <-timer.C:
		}
		if err := f.flush(); err != nil {
			signal(f.some)
		}
	}
}

// flush writes the buffer in one transaction.
func (f *Facts) flush() error {
	f.mu.Lock()
	if len(f.pending) == 0 {
		f.mu.Unlock()
		return nil
	}
	f.writing, f.pending = f.pending, make(map[Key]int64)
	batch := f.writing // not changed until it is taken out below
	f.mu.Unlock()

	err := f.db.Update(func(tx *bbolt.Tx) error { return store(tx.Bucket(sizesBucket), batch) })

	f.mu.Lock()
	defer f.mu.Unlock()
	f.writing = nil
	if err == nil {
		return nil
	}
	for key, size := range batch {
		if _, newer := f.pending[key]; !newer {
			f.pending[key] = size
		}
	}
	return fmt.Errorf("write sizes: %w", err)
}

// store puts the batch into the bucket.
func store(b *bbolt.Bucket, batch map[Key]int64) error {
	for key, size := range batch {
		var err error
		if size < 0 {
			err = b.Delete(encodeKey(key))
		} else {
			err = b.Put(encodeKey(key), binary.BigEndian.AppendUint64(nil, uint64(size)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close writes what is not on disk yet and closes the file. Size answers no more, and
// what is learned later is lost. A second Close returns nil.
func (f *Facts) Close() error {
	var err error
	f.stopOnce.Do(func() {
		close(f.stop)
		<-f.stopped
		err = errors.Join(f.flush(), f.db.Close())
	})
	return err
}
