package spool

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/journal"
)

// recordVersion is the version of the records that are written; others are not read.
const recordVersion = 1

// recordLimit bounds a record in bytes: some hundred thousand documents of a baseline.
const recordLimit = 16 << 20

// encode returns the record as it stands on disk: JSON.
func (r *Record) encode() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	if len(b) >= recordLimit {
		return nil, fmt.Errorf("the record is larger than %d bytes: %w", recordLimit, syscall.E2BIG)
	}
	return b, nil
}

// decode reads the record of the upload id.
func decode(b []byte, id string) (Record, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return Record{}, fmt.Errorf("broken record: %w", err)
	}
	if head.Version != recordVersion {
		return Record{}, fmt.Errorf("record of version %d, this program reads version %d", head.Version, recordVersion)
	}
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, fmt.Errorf("broken record: %w", err)
	}
	if r.ID != id {
		return Record{}, fmt.Errorf("broken record: it is of upload %q", archive.Printable(r.ID))
	}
	if err := r.check(); err != nil {
		return Record{}, fmt.Errorf("broken record: %w", err)
	}
	return r, nil
}

// check refuses a record that could not be acted on. A text that is no UTF-8 would not be
// the same after a restart, so it is refused as EILSEQ.
func (r *Record) check() error {
	switch {
	case !validID(r.ID):
		return errors.New("no id")
	case factsOf[r.State] == facts{}:
		return fmt.Errorf("unknown state %q", archive.Printable(string(r.State)))
	case r.Size < 0:
		return errors.New("negative size")
	case !r.Directory && factsOf[r.State].complete && !validSum(r.SHA256), r.State.InFlight() && r.SentSHA256 != r.SHA256:
		return errors.New("no checksum of its data")
	case r.Directory && r.State.Written():
		return errors.New("a folder is not written to")
	case r.State.InFlight() && !r.Directory && r.SentReplace == 0 && r.SentID == "" && !r.Doubtful: // Record.miss
		return errors.New("no external id although it is being sent")
	}
	if err := r.CheckAttributes(); err != nil {
		return err
	}
	for _, s := range slices.Concat([]string{r.Path, r.Name, r.DocumentName}, r.Local, r.AttributeTexts()) {
		if !utf8.ValidString(s) {
			return fmt.Errorf("%s is no UTF-8: %w", archive.Printable(s), syscall.EILSEQ)
		}
	}
	return nil
}

func validSum(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32
}

// The kinds of entries of the journal, whose keys are ids. What an upload is and how far it got is in its last record.
// Its bytes are those of the pieces, one over the other, unless its file has them.
const (
	isRecord = 'r' // the body is a record
	isBytes  = 'b' // the body is a piece of the content, and the number where that begins
	isSize   = 's' // the number is the length of the content
	isFile   = 'f' // the content is in the file
	isGone   = 'g' // the upload is gone
)

// journalSize is the size of each file of the journal, in bytes.
const journalSize = 16 << 20

// openJournal opens the journal, and tells what an earlier run left.
func (s *Spool) openJournal() (left *left, err error) {
	left = newLeft()
	disk, err := sizeOf(s.dir)
	if err != nil {
		return nil, err
	}
	s.opts.JournalSize = max(64<<10, min(s.opts.JournalSize, disk/32/4096*4096))
	s.journal, err = journal.Open(journal.Options{
		Dir: s.dir, Size: s.opts.JournalSize, Boot: s.opts.Boot, Log: s.log,
		Replay: left.replay, Damaged: func(at journal.Pos) { left.damaged = at }, Move: s.move,
	})
	return left, err
}

// move appends anew what lies before a place of the journal.
func (s *Spool) move(before journal.Pos) error {
	for _, u := range s.List() {
		if err := moveUpload(u, before); err != nil {
			return fmt.Errorf("upload %s: %w", u.id, s.saw(err))
		}
	}
	return nil
}

// moveUpload is move for one upload.
func moveUpload(u *Upload, before journal.Pos) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.removed.Load() {
		return nil
	}
	if u.at < before {
		if err := u.writeLocked(u.rec.Load(), false); err != nil {
			return err
		}
	}
	return u.content.move(func(at journal.Pos) bool { return at < before })
}

// writeRemoval writes that an upload is gone.
func (s *Spool) writeRemoval(id string, sync bool) error {
	w, err := s.journal.Append(journal.Entry{Key: id, Kind: isGone, Durable: true, Void: true})
	if err == nil && sync {
		err = s.journal.Sync(w.At)
	}
	return err
}

// removeAfter is how long a removal that nobody waits for is not synced.
const removeAfter = 5 * time.Millisecond

// later makes removals durable a little later: a crash before that brings back an upload that the archive has, as one
// that was being sent.
type later struct {
	mu    sync.Mutex
	timer *time.Timer    // +checklocks:mu
	work  sync.WaitGroup // what the timer has begun
	ended bool           // +checklocks:mu
}

// sync has the journal synced.
func (l *later) sync(s *Spool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil || l.ended {
		return
	}
	l.work.Add(1)
	l.timer = time.AfterFunc(removeAfter, func() {
		defer l.work.Done()
		l.mu.Lock()
		l.timer = nil
		l.mu.Unlock()
		if err := s.SyncRemovals(); err != nil {
			s.log.Warn(err)
		}
	})
}

// end ends it. Nothing more is synced.
func (l *later) end() {
	l.mu.Lock()
	l.ended = true
	if l.timer != nil && l.timer.Stop() {
		l.work.Done()
	}
	l.mu.Unlock()
	l.work.Wait()
}

// SyncRemovals returns when no crash of the machine brings back an upload that was removed. Until
// then a document that was uploaded must keep its name, place and content: the next start would look
// for it as it was sent, and send it again.
func (s *Spool) SyncRemovals() error { return s.saw(s.journal.SyncAll()) }
