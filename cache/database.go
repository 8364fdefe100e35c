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

// lockWait is how long a file may be in use by another process.
const lockWait = time.Second

// errBroken says that a database turned out to be damaged.
var errBroken = errors.New("the file is damaged")

// database is a bbolt file of what can be learned again. The library ends the process when
// it meets a page that a disk has damaged; here it is an error, and the file goes.
type database struct {
	bolt   *bbolt.DB
	path   string
	broken atomic.Bool
}

// openDatabase opens the database of path with its buckets, or makes it with permissions
// 0600. What is there but is no such database is replaced. One process at a time can have
// it open.
func openDatabase(path string, buckets ...[]byte) (*database, error) {
	d, err := tryDatabase(path, buckets)
	if err == nil || !aboutContent(err) {
		return d, err
	}
	if err := os.Remove(path); err != nil {
		return nil, fmt.Errorf("replace a broken file: %w", err)
	}
	return tryDatabase(path, buckets)
}

// aboutContent reports whether err is about what is in a file. Another process that has it
// open, and what the system refuses, are no reason to remove it.
func aboutContent(err error) bool {
	var system syscall.Errno
	return !errors.As(err, &system) && !errors.Is(err, bolterrors.ErrTimeout)
}

func tryDatabase(path string, buckets [][]byte) (*database, error) {
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
		missing = slices.ContainsFunc(buckets, func(name []byte) bool { return tx.Bucket(name) == nil })
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

// checkLength looks whether the file of path, if there is one, is as long as it says
// itself. It is opened for reading first, because that reads nothing but its head.
func checkLength(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil // it is made, or to open it tells the error
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

func makeBuckets(tx *bbolt.Tx, buckets [][]byte) error {
	for _, name := range buckets {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return nil
}

// view reads.
func (d *database) view(read func(*bbolt.Tx) error) error {
	return d.guard(func() error { return d.bolt.View(read) })
}

// update writes in one transaction.
func (d *database) update(change func(*bbolt.Tx) error) error {
	return d.guard(func() error { return d.bolt.Update(change) })
}

// guard turns what the library does on a damaged page into errBroken. After that the
// library's own locks may stay taken, so it is never called again.
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
