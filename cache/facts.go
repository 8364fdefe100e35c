package cache

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/archivefs/archivefs/archive"
)

// sizesBucket holds a big-endian int64 length for each key (encodeKey). Its name carries
// the version of the format.
const sizesBucket = "sizes.v1"

// Facts keeps the lengths of contents in one file, for ever. They are written in batches in the
// background; a crash loses the newest few.
type Facts struct {
	db *database
	// changes holds archive.SizeUnknown for a length to be forgotten.
	changes *buffer[Key, int64]
}

// OpenFacts opens the file of path, or makes it with permissions 0600. A file of another
// format is replaced: lengths can be learned again. One process at a time can have it open.
func OpenFacts(path string) (*Facts, error) {
	db, err := openDatabase(path, sizesBucket)
	if err != nil {
		return nil, fmt.Errorf("open size file %s: %w", path, err)
	}
	f := &Facts{db: db}
	f.changes = newBuffer(f.write)
	return f, nil
}

// Size returns the length in bytes learned for key. It reads memory, or the mapped file.
func (f *Facts) Size(key Key) (int64, bool) {
	if size, ok := f.changes.get(key); ok {
		return size, size >= 0
	}
	size := archive.SizeUnknown
	err := f.db.view(func(tx *bbolt.Tx) error {
		if v := tx.Bucket([]byte(sizesBucket)).Get(encodeKey(key)); len(v) == 8 {
			size = int64(binary.BigEndian.Uint64(v)) //nolint:gosec // it was an int64
		}
		return nil
	})
	return size, err == nil && size >= 0
}

// Learn remembers that the content of key has size bytes. A negative size is ignored.
func (f *Facts) Learn(key Key, size int64) {
	if known, ok := f.Size(key); size >= 0 && (!ok || known != size) {
		f.changes.put(key, size, false, nil)
	}
}

// Forget removes what was learned for key.
func (f *Facts) Forget(key Key) {
	if _, ok := f.Size(key); ok {
		f.changes.put(key, archive.SizeUnknown, true, nil)
	}
}

func (f *Facts) write(sizes map[Key]int64) error {
	err := f.db.update(func(tx *bbolt.Tx) error {
		for key, size := range sizes {
			var value []byte
			if size >= 0 {
				value = binary.BigEndian.AppendUint64(nil, uint64(size))
			}
			if err := put(tx.Bucket([]byte(sizesBucket)), encodeKey(key), value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write sizes: %w", err)
	}
	return nil
}

// Close writes what is not on disk yet and closes the file. After it, Size finds nothing and
// Learn keeps nothing. A second Close returns nil.
func (f *Facts) Close() error {
	first, err := f.changes.close()
	if !first {
		return nil
	}
	return errors.Join(err, f.db.close())
}

// encodeKey returns the document as a big-endian int64 and the representation's byte.
func encodeKey(key Key) []byte {
	b := make([]byte, 0, 9)
	b = binary.BigEndian.AppendUint64(b, uint64(key.Document)) //nolint:gosec // the bits are kept
	return append(b, byte(key.Representation))
}
