package cache

import (
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
		err = d.update(func(tx *bbolt.Tx) error { return makeBuckets(tx, buckets) })
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

func makeBuckets(tx *bbolt.Tx, buckets []string) error {
	for _, name := range buckets {
		if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	return nil
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
