package spool

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/internal/journal"
)

// dataPrefix begins the name of the file of an upload that has one, which its id follows.
const dataPrefix = "data-"

// ErrRemoved says that an upload was forgotten by Remove.
var ErrRemoved = errors.New("the upload was removed")

// Upload is a file in the spool: what it is, and how far it got. Its methods can be called by several goroutines.
type Upload struct {
	spool   *Spool
	id      string
	log     logrus.FieldLogger
	rec     atomic.Pointer[Record] // what it points to never changes; replaced under mu
	content content
	sent    atomic.Int64  // bytes of the data that the delivery under way has read; else 0
	turn    chan struct{} // holds one token: the right to deliver
	removed atomic.Bool   // set under mu
	spoilt  atomic.Pointer[error]
	// Cached is for whoever moves the bytes of what is confirmed into a cache.
	Cached sync.Once

	mu sync.Mutex
	// at is the last record in the journal, and durable says that one is durable.
	at      journal.Pos // +checklocks:mu
	durable bool        // +checklocks:mu
	// busy says that Deliver is at work.
	busy bool // +checklocks:mu
	// checked says that the data was seen to have the record's checksum in this run.
	checked bool // +checklocks:mu
	// outcome is the error of the last delivery in this run, nil for success.
	outcome error // +checklocks:mu
	// doubt is when what was sent without an answer ended, zero without.
	doubt time.Time // +checklocks:mu
}

func newUpload(s *Spool, r Record) *Upload {
	u := &Upload{
		spool: s, id: r.ID, log: s.log.WithField("upload", r.ID), turn: make(chan struct{}, 1),
		content: content{id: r.ID, path: filepath.Join(s.dir, dataPrefix+r.ID), journal: s.journal, budget: &s.budget, saw: s.saw, most: s.opts.JournalSize / logPart, early: s.opts.Early, sealed: !r.State.Written()},
	}
	u.content.log = u.log
	u.rec.Store(&r)
	return u
}

// ID is the record's ID.
func (u *Upload) ID() string { return u.id }

// Record returns a copy of the record. It never waits.
func (u *Upload) Record() Record { return u.rec.Load().clone() }

// State returns how far it has got, as Record().State does, without a copy.
func (u *Upload) State() State { return u.rec.Load().State }

// Sent returns how many bytes of the data have been read for the archive by the delivery
// under way, 0 when there is none.
func (u *Upload) Sent() int64 { return u.sent.Load() }

// Removed reports whether Remove has forgotten it.
func (u *Upload) Removed() bool { return u.removed.Load() }

// Update changes descriptive fields by edit. Changes of fields that the spool owns do not count. What an upload asks of
// the archive cannot change while it is being sent, nor after (*StateError). The change is durable; before the first
// Sync or transition it survives an end of the program only. After Remove it lasts as long as the upload is open.
//
// No lock is held during edit. It runs again when the record has changed meanwhile, so all
// that it does is to change the record that it is given.
func (u *Upload) Update(edit func(*Record)) error {
	next := u.lockWith(edit)
	defer u.mu.Unlock()
	if u.removed.Load() {
		u.rec.Store(next)
		return nil
	}
	if err := u.mayLocked(onUpdate); err != nil {
		return err
	}
	r := u.rec.Load()
	if fixed := u.busy || r.State.InFlight() || r.State == Confirmed; fixed && !sameRequest(r, next) {
		return refusal(onUpdate.name, r)
	}
	return u.transitLocked(onUpdate, asBefore, func(r *Record) { *r = *next })
}

// lockWith locks mu and returns the record as edit changes it, which ran before that.
// +checklocksacquire:u.mu
func (u *Upload) lockWith(edit func(*Record)) (next *Record) {
	for {
		before := u.rec.Load()
		next := before.clone()
		edit(&next)
		before.keepOwned(&next)
		u.mu.Lock()
		if u.rec.Load() == before {
			return &next
		}
		u.mu.Unlock()
	}
}

// durability says what a record survives beside an end of the program.
type durability uint8

const (
	// asBefore: what the one before it survives. Once one is durable all are, because nobody
	// could tell which of them a crash of the machine left.
	asBefore durability = iota
	// synced: a crash of the machine.
	synced
	// unsynced: nothing more. Then the one before it stands, or none, and either will do.
	unsynced
)

// volatileLocked reports whether nothing of an upload in state s is synced: nobody was told
// that it is safe, nor is by what comes next, the close that archives it.
// +checklocks:u.mu
func (u *Upload) volatileLocked(s State) bool {
	return !u.durable && !s.InQueue() && u.spool.opts.Boot != ""
}

// storeLocked writes the record and then shows it. If it is to be durable then so are the bytes.
// +checklocks:u.mu
func (u *Upload) storeLocked(r *Record, as durability) error {
	if err := u.spool.saw(u.writeLocked(r, as == synced || u.durable && as == asBefore)); err != nil {
		return fmt.Errorf("record of upload %s: %w", u.id, err)
	}
	u.rec.Store(r)
	return nil
}

// +checklocks:u.mu
func (u *Upload) writeLocked(r *Record, sync bool) error {
	b, err := r.encode()
	if err != nil {
		return err
	}
	content := sync && !r.Directory && r.State != Confirmed && !u.content.isLost()
	if content {
		if err := u.content.sync(); err != nil {
			return err
		}
	}
	w, err := u.spool.journal.Append(journal.Entry{Key: u.id, Kind: isRecord, Durable: sync || u.durable, Body: b})
	if err != nil {
		return err
	}
	if sync {
		u.content.promise()
		err := u.spool.journal.Sync(w.At)
		if err == nil && content {
			err = u.content.rescue()
		}
		if err != nil {
			u.spool.journal.Release(w.At)
			return err
		}
		u.durable = true
	}
	if u.at != 0 {
		u.spool.journal.Release(u.at)
	}
	u.at = w.At
	return nil
}

// Sync makes data and record durable. answered says that a close is answered with success for that, while others still
// write.
func (u *Upload) Sync(answered bool) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.removed.Load() || u.State() == Unusable:
		return nil
	case !u.State().Written():
		return u.syncLocked()
	}
	if err := u.spool.fault(PointSync); err != nil {
		return err
	}
	r := u.Record()
	if answered {
		r.State = onAnswer.to[r.State]
	}
	if err := u.storeLocked(&r, synced); err != nil {
		return err
	}
	return u.spool.fault(PointSynced)
}

// Answered says that closes were answered with success. What comes next makes it durable.
func (u *Upload) Answered() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if to, ok := onAnswer.to[u.State()]; ok {
		u.becomeLocked(to)
	}
}

// syncLocked makes a volatile upload durable.
// +checklocks:u.mu
func (u *Upload) syncLocked() error {
	if !u.volatileLocked(u.State()) {
		return nil
	}
	r := u.Record()
	return u.storeLocked(&r, synced)
}

// Open keeps the data open until Close, so that reads and writes in between need no
// descriptor of their own. An upload that nobody has open holds no descriptor.
func (u *Upload) Open() error { return u.content.acquire() }

// Close ends one Open. After Remove the last one frees the bytes.
func (u *Upload) Close() error { return u.content.close() }

// Size is the length of the data in bytes.
func (u *Upload) Size() int64 { return u.content.size.Load() }

// DataPath is the file that holds the data, empty if they are in the journal. It is the caller's to read, and after
// confirmation to link to.
func (u *Upload) DataPath() string {
	if u.content.isInFile() {
		return u.content.path
	}
	return ""
}

// Verify compares the data with the record, once in every run, so that bytes which a crash or the
// disk changed are neither archived nor shown as those of a document.
func (u *Upload) Verify() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.checked {
		return nil
	}
	r := u.rec.Load()
	sum, n, err := sumOf(io.NewSectionReader(&u.content, 0, r.Size+1), r.Size+1)
	switch {
	case err != nil:
		return fmt.Errorf("its data cannot be read: %w", err)
	case n != r.Size || sum != r.SHA256:
		return errDamaged
	}
	u.checked = true
	return nil
}

// BeginSync has the disk begin to write the data (Options.Early), so that a Commit waits for less.
func (u *Upload) BeginSync() { u.content.beginSync() }

// ReadAt implements io.ReaderAt.
func (u *Upload) ReadAt(p []byte, off int64) (int, error) { return u.content.ReadAt(p, off) }

// WriteAt implements io.WriterAt where the bytes may change (State.Written); else the error is a *StateError. Where
// the budget or the disk has no room for all of p nothing is written and the error is ENOSPC. The upload then is
// open; where there is no room, one that was closed stays as it was.
func (u *Upload) WriteAt(p []byte, off int64) (int, error) {
	switch {
	case off < 0:
		return 0, fmt.Errorf("write at %d: %w", off, syscall.EINVAL)
	case off > math.MaxInt64-int64(len(p)):
		return 0, fmt.Errorf("write at %d: %w", off, syscall.EFBIG)
	case len(p) == 0:
		return 0, nil
	}
	if err := u.Touch(int64(len(p)), off+int64(len(p))); err != nil {
		return 0, err
	}
	n, err := u.content.writeAt(p, off)
	if errors.Is(err, errSealed) {
		err = refusal("write to", u.rec.Load())
	}
	return n, err
}

// Truncate sets the length of the data in bytes; what is added reads as zeros. It fails as WriteAt does.
func (u *Upload) Truncate(size int64) error {
	if size < 0 {
		return fmt.Errorf("truncate to %d: %w", size, syscall.EINVAL)
	}
	if err := u.Touch(max(0, size-u.Size()), size); err != nil {
		return err
	}
	err := u.content.truncate(size)
	if errors.Is(err, errSealed) {
		err = refusal("truncate", u.rec.Load())
	}
	return err
}
