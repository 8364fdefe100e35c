package cache

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

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

	err := f.db.update(func(tx *bbolt.Tx) error { return store(tx.Bucket(sizesBucket), batch) })

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
	if !f.batch.end() {
		return nil
	}
	return errors.Join(f.flush(), f.db.close())
}
