package spool

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/internal/durable"
)

// The files of an upload, in its directory.
const (
	recordFile = "record.json"
	dataFile   = "data"
)

// ErrRemoved says that an upload was forgotten by Remove.
var ErrRemoved = errors.New("spool: the upload was removed")

// Upload is a file in the spool. Its methods can be called by several goroutines.
type Upload struct {
	spool *Spool
	id    string
	rec   atomic.Pointer[Record] // what it points to never changes; replaced under mu

	content content
	// turn holds one token: the right to deliver.
	turn chan struct{}

	mu      sync.Mutex
	busy    bool      // Deliver is at work; guarded by mu
	removed bool      // guarded by mu
	linked  bool      // the directory's own name is durable, and a record in it; guarded by mu
	checked bool      // the data was seen to have the record's checksum in this run; guarded by mu
	outcome error     // of the last delivery in this run, nil for success; guarded by mu
	doubt   time.Time // when what was sent without an answer ended, zero without; guarded by mu
	broken  error     // why the record cannot be acted on; constant
}

func newUpload(s *Spool, r Record) *Upload {
	u := &Upload{spool: s, id: r.ID, turn: make(chan struct{}, 1)}
	u.content.path = filepath.Join(s.dir, r.ID, dataFile)
	u.content.sealed = r.State != Created
	u.rec.Store(&r)
	return u
}

// ID is the record's ID.
func (u *Upload) ID() string { return u.id }

// Record returns a copy of the record. It never waits.
func (u *Upload) Record() Record { return u.rec.Load().clone() }

// State returns how far it has got, as Record().State does, without a copy.
func (u *Upload) State() State { return u.rec.Load().State }

// Update changes descriptive fields by edit, which must not call the spool. Changes of
// fields that the spool owns do not count. What an upload asks of the archive cannot
// change while it is being sent, nor after (*StateError). The change is durable; before the
// first Sync or transition it survives an end of the program only. After Remove it lasts as
// long as the upload is open.
func (u *Upload) Update(edit func(*Record)) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.rec.Load()
	next := r.clone()
	edit(&next)
	r.keepOwned(&next)
	if u.removed {
		u.rec.Store(&next)
		return nil
	}
	if err := u.usable("change"); err != nil {
		return err
	}
	if fixed := u.busy || r.State == Sending || r.State == Confirmed; fixed && !sameRequest(r, &next) {
		return u.stateError("change")
	}
	next.Changed = u.spool.now()
	if err := u.spool.fault(PointUpdate); err != nil {
		return err
	}
	// A record that is durable is not replaced by one that a crash would tear.
	if err := u.storeLocked(&next, u.linked); err != nil {
		return err
	}
	return u.spool.fault(PointUpdated)
}

// storeLocked writes the record and then shows it. The caller holds mu.
func (u *Upload) storeLocked(r *Record, sync bool) error {
	dir := filepath.Join(u.spool.dir, u.id)
	if err := writeRecord(filepath.Join(dir, recordFile), r, sync); err != nil {
		return fmt.Errorf("spool: record of upload %s: %w", u.id, err)
	}
	if sync && !u.linked {
		if err := durable.SyncDir(u.spool.dir); err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		u.linked = true
	}
	u.rec.Store(r)
	return nil
}

// step is a transition: edit changes a copy of the record, which is then durable. The
// points before and after are those of the transition. The caller holds mu.
func (u *Upload) step(before, after Point, edit func(*Record)) error {
	if err := u.spool.fault(before); err != nil {
		return err
	}
	next := u.rec.Load().clone()
	edit(&next)
	next.Changed = u.spool.now()
	if err := u.storeLocked(&next, true); err != nil {
		return err
	}
	return u.spool.fault(after)
}

// may refuses an operation that is not for the upload's state, and all of them while it
// is delivered. The caller holds mu.
func (u *Upload) may(op string, states ...State) error {
	if err := u.usable(op); err != nil {
		return err
	}
	if u.busy {
		return u.stateError(op)
	}
	for _, s := range states {
		if u.rec.Load().State == s {
			return nil
		}
	}
	return u.stateError(op)
}

// usable refuses an operation on an upload that was removed or cannot be read. The caller
// holds mu.
func (u *Upload) usable(op string) error {
	switch {
	case u.removed:
		return ErrRemoved
	case u.broken != nil:
		return &StateError{Op: op, ID: u.id, State: Failed, Detail: u.broken.Error()}
	}
	return nil
}

func (u *Upload) stateError(op string) error {
	return &StateError{Op: op, ID: u.id, State: u.rec.Load().State}
}

// now is the time as records keep it.
func (s *Spool) now() time.Time { return s.opts.Now().UTC().Round(0) }
