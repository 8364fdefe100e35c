package cache

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/archivefs/archivefs/archive"
)

// sizesBucket holds a big-endian int64 length and the fingerprint of the document for each key (encodeKey).
// Its name carries the version of the format.
const sizesBucket = "sizes.v2"

// fact is the length of a content of an archived document.
type fact struct {
	size  int64 // archive.SizeUnknown for one that is to be forgotten
	print archive.Fingerprint
}

// Facts keeps the lengths of contents of archived documents in one file, for ever. They are written in batches in the
// background; a crash loses the newest few.
type Facts struct {
	db      *database
	changes *buffer[Key, fact]
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

// Size returns the length in bytes learned for key while its document had that fingerprint, or was not
// listed yet. It reads memory, or the mapped file.
func (f *Facts) Size(key Key, print archive.Fingerprint) (int64, bool) {
	known, ok := f.get(key)
	switch {
	case !ok, known.print != print && known.print != archive.Unlisted:
		return 0, false
	case known.print != print:
		f.Learn(key, print, known.size)
	}
	return known.size, true
}

func (f *Facts) get(key Key) (fact, bool) {
	if known, ok := f.changes.get(key); ok {
		return known, known.size >= 0
	}
	known := fact{size: archive.SizeUnknown}
	err := f.db.view(func(tx *bbolt.Tx) error {
		if v := tx.Bucket([]byte(sizesBucket)).Get(encodeKey(key)); len(v) == 16 {
			known.size = int64(binary.BigEndian.Uint64(v)) //nolint:gosec // it was an int64
			known.print = archive.Fingerprint(binary.BigEndian.Uint64(v[8:]))
		}
		return nil
	})
	return known, err == nil && known.size >= 0
}

// Learn remembers that the content of key has size bytes while its document has that fingerprint. A
// negative size is ignored.
func (f *Facts) Learn(key Key, print archive.Fingerprint, size int64) {
	now := fact{size, print}
	if known, ok := f.get(key); size >= 0 && (!ok || known != now) {
		f.changes.put(key, now, false, nil)
	}
}

// Forget removes what was learned for key.
func (f *Facts) Forget(key Key) {
	if _, ok := f.get(key); ok {
		f.changes.put(key, fact{size: archive.SizeUnknown}, true, nil)
	}
}

func (f *Facts) write(sizes map[Key]fact) error {
	err := f.db.update(func(tx *bbolt.Tx) error {
		for key, known := range sizes {
			var value []byte
			if known.size >= 0 {
				value = binary.BigEndian.AppendUint64(nil, uint64(known.size))
				value = binary.BigEndian.AppendUint64(value, uint64(known.print))
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
