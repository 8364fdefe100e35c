package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/archivefs/archivefs/archive"
)

// lockWait is how long openDatabase waits for another process to close the file.
const lockWait = time.Second

var errBroken = errors.New("the file is damaged")

// database is a bbolt file of facts that can be learned again. bbolt ends the process when it
// meets a damaged page; database returns an error instead, and removes the file.
type database struct {
	bolt   *bbolt.DB
	path   string
	broken atomic.Bool
}

// openDatabase opens the database of path with its buckets, or makes it with permissions
// 0600. A file that is no such database is replaced. One process at a time can have it open.
func openDatabase(path string, buckets ...string) (*database, error) {
	d, err := tryDatabase(path, buckets)
	if err == nil || !aboutContent(err) {
		return d, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // close may have removed it
		return nil, fmt.Errorf("replace a broken file: %w", err)
	}
	return tryDatabase(path, buckets)
}

// aboutContent reports whether err is about the content of a file, which is then removed: not
// when another process has the file open, or the system refuses to open it.
func aboutContent(err error) bool {
	var system syscall.Errno
	return !errors.As(err, &system) && !errors.Is(err, bolterrors.ErrTimeout)
}

func tryDatabase(path string, buckets []string) (*database, error) {
	d := &database{path: path}
	err := d.guard(func() (err error) {
		if err := checkLength(path); err != nil {
			return err
		}
		d.bolt, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: lockWait, FreelistType: bbolt.FreelistMapType, NoStatistics: true,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	missing := false
	err = d.view(func(tx *bbolt.Tx) error {
		missing = slices.ContainsFunc(buckets, func(name string) bool { return tx.Bucket([]byte(name)) == nil })
		return nil
	})
	if err == nil && missing {
		err = d.update(func(tx *bbolt.Tx) error {
			for _, name := range buckets {
				if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// checkLength returns an error for a file that is shorter than its head says. It opens the file
// for reading, because that reads the head only.
func checkLength(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil // tryDatabase makes it, or returns the error
	}
	bolt, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, ReadOnly: true, NoStatistics: true})
	if err != nil {
		return err
	}
	err = bolt.View(func(tx *bbolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("%w: it is cut off", errBroken)
		}
		return nil
	})
	return errors.Join(err, bolt.Close())
}

// put writes a value, or deletes the key when value is nil.
func put(b *bbolt.Bucket, key, value []byte) error {
	if value == nil {
		return b.Delete(key)
	}
	return b.Put(key, value)
}

func (d *database) view(read func(*bbolt.Tx) error) error {
	return d.guard(func() error { return d.bolt.View(read) })
}

func (d *database) update(change func(*bbolt.Tx) error) error {
	return d.guard(func() error { return d.bolt.Update(change) })
}

// guard turns bbolt's panic on a damaged page into errBroken. bbolt's own locks may stay locked
// after that, so it is not called again.
func (d *database) guard(call func() error) (err error) {
	if d.broken.Load() {
		return errBroken
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if found := recover(); found != nil {
			d.broken.Store(true)
			err = fmt.Errorf("%w: %v", errBroken, found)
		}
	}()
	return call()
}

// close closes the file. One that was found damaged is removed instead.
func (d *database) close() error {
	if d.broken.Load() {
		return os.Remove(d.path)
	}
	return d.bolt.Close()
}

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
