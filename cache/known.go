package cache

import (
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"go.etcd.io/bbolt"
)

// knownLimit bounds the bytes of all listings in the file; about half a million documents.
const knownLimit = 64 << 20

// Known keeps, in one file, what the service listed last, for a mount that starts or goes
// on while it is away. What is saved is written in batches in the background; a crash loses the newest few. The file is bounded: what was fetched longest ago goes
// first.
type Known struct {
	db    *database
	log   logrus.FieldLogger
	limit uint64
	batch *batch

	mu sync.Mutex
	// pending is not on disk yet.
	pending map[place]saved // +checklocks:mu
	// writing is on its way to the disk.
	writing map[place]saved // +checklocks:mu
}

// place is where in the file something lies.
type place struct{ bucket, key string }

// saved is what is to be written to a place.
type saved struct {
	value   string // encoded; empty: the place is to be emptied
	fetched time.Time
}

// OpenKnown opens the file of path, or makes it with permissions 0600. What is there but
// is no such file is replaced. One process at a time can have it open.
func OpenKnown(path string, log logrus.FieldLogger) (*Known, error) {
	db, err := openDatabase(path, foldersBucket, documentsBucket, inboxesBucket, readAsBucket, sumBucket)
	if err != nil {
		return nil, fmt.Errorf("open known listings %s: %w", path, err)
	}
	k := &Known{db: db, log: log, limit: knownLimit, pending: make(map[place]saved)}
	k.batch = newBatch(k.flush)
	return k, nil
}

// note puts a change into the write buffer. A buffer that a slow disk has let grow too
// long takes no more.
func (k *Known) note(at place, what saved) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, there := k.pending[at]
	late := there && what.value != "" && before.fetched.After(what.fetched)
	if late || !there && len(k.pending) >= maxPending {
		return
	}
	k.pending[at] = what
	k.batch.note(len(k.pending))
}

// noted returns what waits to be written to a place.
func (k *Known) noted(at place) (saved, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	what, ok := k.pending[at]
	if !ok {
		what, ok = k.writing[at]
	}
	return what, ok
}

// read returns what lies in a place, and whether there is anything.
func (k *Known) read(at place) (what saved, found bool) {
	err := k.db.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(at.bucket)).Get([]byte(at.key))
		if fetched, rest, ok := splitAge(b); ok {
			what, found = saved{value: string(rest), fetched: fetched}, true
		}
		return nil
	})
	return what, found && err == nil
}
