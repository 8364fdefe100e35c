package cache

import (
	"encoding/binary"
	"fmt"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/archivefs/archivefs/archive"
)

// maxPending bounds the sizes that wait for a disk that fails; newer ones are not learned.
const maxPending = 4096

// sizesBucket holds a big-endian int64 length for each key (encodeKey). Its name carries
// the version of the format.
var sizesBucket = []byte("sizes.v1")

// Facts remembers, in one file and for ever, the lengths of contents that were once
// learned. Sizes are written in batches in the background; a crash loses the newest few.
type Facts struct {
	db *database

	mu sync.Mutex
	// pending is not on disk yet; archive.SizeUnknown stands for a key to be forgotten.
	pending map[Key]int64 // +checklocks:mu
	// writing is on its way to the disk.
	writing map[Key]int64 // +checklocks:mu

	batch *batch
}

// OpenFacts opens the file of path, or makes it with permissions 0600. What is there but
// is no such file is replaced: it held nothing that cannot be learned again. One process
// at a time can have it open.
func OpenFacts(path string) (*Facts, error) {
	db, err := openDatabase(path, sizesBucket)
	if err != nil {
		return nil, fmt.Errorf("open size file %s: %w", path, err)
	}
	f := &Facts{db: db, pending: make(map[Key]int64)}
	f.batch = newBatch(f.flush)
	return f, nil
}

// Size returns the length in bytes learned for key. It reads memory, or the mapped file.
func (f *Facts) Size(key Key) (int64, bool) {
	f.mu.Lock()
	size, ok := f.pending[key]
	if !ok {
		size, ok = f.writing[key]
	}
	f.mu.Unlock()
	if ok {
		return size, size >= 0
	}
	err := f.db.view(func(tx *bbolt.Tx) error {
		if v := tx.Bucket(sizesBucket).Get(encodeKey(key)); len(v) == 8 {
			size, ok = int64(binary.BigEndian.Uint64(v)), true //nolint:gosec // it was an int64
		}
		return nil
	})
	return size, ok && err == nil && size >= 0
}

// Learn remembers that the content of key has size bytes. A negative size is no news.
func (f *Facts) Learn(key Key, size int64) {
	if size < 0 {
		return
	}
	if known, ok := f.Size(key); !ok || known != size {
		f.note(key, size)
	}
}

// Forget removes what was learned for key.
func (f *Facts) Forget(key Key) {
	if _, ok := f.Size(key); ok {
		f.note(key, archive.SizeUnknown)
	}
}

// note puts a change into the write buffer.
func (f *Facts) note(key Key, size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.pending[key]; !ok && len(f.pending) >= maxPending && size >= 0 {
		return
	}
	f.pending[key] = size
	f.batch.note(len(f.pending))
}

// encodeKey returns the document as a big-endian int64 and the representation's byte.
func encodeKey(key Key) []byte {
	b := make([]byte, 0, 9)
	b = binary.BigEndian.AppendUint64(b, uint64(key.Document)) //nolint:gosec // the bits are kept
	return append(b, byte(key.Representation))
}
