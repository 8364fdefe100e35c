package spool

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

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
	sent    atomic.Int64 // bytes of the data that the delivery under way has read; else 0
	// turn holds one token: the right to deliver.
	turn chan struct{}

	mu      sync.Mutex
	busy    bool      // Deliver is at work; guarded by mu
	removed bool      // guarded by mu
	linked  bool      // the directory's own name is durable, and a record in it; guarded by mu
	end     int64     // of the record in its file; guarded by mu
	checked bool      // the data was seen to have the record's checksum in this run; guarded by mu
	outcome error     // of the last delivery in this run, nil for success; guarded by mu
	doubt   time.Time // when what was sent without an answer ended, zero without; guarded by mu
	broken  error     // why the record cannot be acted on; constant
}

// newUpload is the upload of a record that ends at end in its file.
func newUpload(s *Spool, r Record, end int64) *Upload {
	u := &Upload{spool: s, id: r.ID, end: end, turn: make(chan struct{}, 1)}
	u.content.path = filepath.Join(s.dir, r.ID, dataFile)
	u.content.sealed = r.State != Created
	u.rec.Store(&r)
	return u
}

// ID is the record's ID.
func (u *Upload) ID() string { return u.id }

// Record returns a copy of the record. It never waits.
func (u *Upload) Record() Record { return u.rec.Load().clone() }

// Sent returns how many bytes of the data have been read for the archive by the delivery
// under way, 0 when there is none.
func (u *Upload) Sent() int64 { return u.sent.Load() }

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
	if err := u.storeLocked(&next, asBefore); err != nil {
		return err
	}
	return u.spool.fault(PointUpdated)
}

// outlasting says what a record survives, beside an end of the program.
type outlasting uint8

const (
	// asBefore: what the one before it survives. Once one is durable all are, because nobody
	// could tell which of them a crash of the machine left.
	asBefore outlasting = iota
	// theMachine: a crash of the machine.
	theMachine
	// nothing: then the one before it stands, or none, and either will do.
	nothing
)

// storeLocked writes the record and then shows it. The caller holds mu.
func (u *Upload) storeLocked(r *Record, outlasts outlasting) error {
	sync := outlasts == theMachine || u.linked && outlasts == asBefore
	r.Boot = ""
	if !sync && !u.linked {
		r.Boot = u.spool.opts.Boot
	}
	if err := u.writeRecordLocked(r, sync); err != nil {
		return err
	}
	u.linked = u.linked || sync
	u.rec.Store(r)
	return nil
}

// writeRecordLocked writes the record. With sync it is durable when it returns, and so are the
// names of the upload's files and of its directory: the disk is asked for all of them at
// once. The caller holds mu.
func (u *Upload) writeRecordLocked(r *Record, sync bool) error {
	dir := filepath.Join(u.spool.dir, u.id)
	var names errgroup.Group
	if sync && !u.linked {
		names.Go(func() error { return durable.SyncDir(dir) })
		names.Go(func() error { return durable.SyncDir(u.spool.dir) })
	}
	end, err := appendRecord(filepath.Join(dir, recordFile), u.end, r, sync)
	u.end = end
	if err := u.spool.saw(errors.Join(err, names.Wait())); err != nil {
		return fmt.Errorf("spool: record of upload %s: %w", u.id, err)
	}
	return nil
}

// step is a transition that is durable when it returns. The caller holds mu.
func (u *Upload) step(before, after Point, edit func(*Record)) error {
	return u.transit(before, after, edit, theMachine)
}

// transit is a transition: edit changes a copy of the record, which is then written. The
// points before and after are those of the transition. The caller holds mu.
func (u *Upload) transit(before, after Point, edit func(*Record), outlasts outlasting) error {
	if err := u.spool.fault(before); err != nil {
		return err
	}
	next := u.rec.Load().clone()
	edit(&next)
	next.Changed = u.spool.now()
	if err := u.storeLocked(&next, outlasts); err != nil {
		return err
	}
	return u.spool.fault(after)
}

// looseLocked reports whether nobody was told anything of the upload that must outlast a crash
// of the machine, nor is told by what comes next, the close that archives it: then nothing
// of it is synced. What a crash leaves of it is recognised by its record (Record.Boot). The
// caller holds mu.
func (u *Upload) looseLocked(r *Record) bool {
	return !u.linked && !r.Queued && u.spool.opts.Boot != ""
}

// outlastsLocked is what the next record of the upload has to survive. The caller holds mu.
func (u *Upload) outlastsLocked() outlasting {
	if u.looseLocked(u.rec.Load()) {
		return asBefore
	}
	return theMachine
}

// secure is secureLocked for an upload that is still there.
func (u *Upload) secure() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.removed || u.broken != nil {
		return nil
	}
	return u.secureLocked()
}

// secureLocked makes data and record of a loose upload durable. The caller holds mu.
func (u *Upload) secureLocked() error {
	if !u.looseLocked(u.rec.Load()) {
		return nil
	}
	r := u.rec.Load().clone()
	if r.State != Confirmed { // whose data nobody needs
		if err := u.syncData(); err != nil {
			return err
		}
	}
	return u.storeLocked(&r, theMachine)
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

// Broken reports whether its record cannot be acted on: only its bytes can be had.
func (u *Upload) Broken() bool { return u.broken != nil }

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
