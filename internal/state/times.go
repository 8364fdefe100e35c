package state

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/archivefs/archivefs/archive"
)

// saveAfter is how much later than the first of them times are written.
const saveAfter = time.Second

// Times are those of a document that the archive does not have. A zero one is not kept.
type Times struct {
	Modified time.Time // as a program set it
	Changed  time.Time // when this machine saw the document come or change
}

// times are those that are not in the file yet.
type times struct {
	mu      sync.Mutex
	unsaved map[archive.ID]Times // +checklocks:mu
	// timer is nil while nothing is to be saved.
	timer *time.Timer // +checklocks:mu
}

// Times returns what is kept of a document's times.
func (s *Store) Times(doc archive.ID) Times {
	s.times.mu.Lock()
	t, unsaved := s.times.unsaved[doc]
	s.times.mu.Unlock()
	if unsaved {
		return t
	}
	return s.savedTimes(doc)
}

func (s *Store) savedTimes(doc archive.ID) (t Times) {
	v := s.get(bucketTimes, doc)
	if len(v) >= timeSize {
		t.Modified = timeOf(v)
	}
	if len(v) == 2*timeSize {
		t.Changed = timeOf(v[timeSize:])
	}
	return t
}

// SetModified keeps the modification time of a document, and that it changed. Times may be lost when the
// program ends within a second: they are not worth a wait for the disk.
func (s *Store) SetModified(doc archive.ID, modified, changed time.Time) {
	s.times.mu.Lock()
	defer s.times.mu.Unlock()
	s.keepTimesLocked(doc, Times{modified, changed})
}

// SetChanged keeps that a document changed.
func (s *Store) SetChanged(doc archive.ID, changed time.Time) {
	s.times.mu.Lock()
	defer s.times.mu.Unlock()
	t, unsaved := s.times.unsaved[doc]
	if !unsaved {
		t = s.savedTimes(doc)
	}
	t.Changed = changed
	s.keepTimesLocked(doc, t)
}

// +checklocks:s.times.mu
func (s *Store) keepTimesLocked(doc archive.ID, t Times) {
	s.times.unsaved[doc] = t
	if s.times.timer == nil {
		s.times.timer = time.AfterFunc(saveAfter, func() { _ = s.saveTimes() }) // Close tries again, and reports errors
	}
}

// timeSize is the size of a time on disk: Unix seconds in 8 bytes, nanoseconds in 4.
const timeSize = 12

func timeOf(v []byte) time.Time {
	return time.Unix(int64(binary.BigEndian.Uint64(v)), int64(binary.BigEndian.Uint32(v[8:]))) //nolint:gosec // the bits of an int64, as written below
}

func appendTime(v []byte, t time.Time) []byte {
	v = binary.BigEndian.AppendUint64(v, uint64(t.Unix()))          //nolint:gosec // bits
	return binary.BigEndian.AppendUint32(v, uint32(t.Nanosecond())) //nolint:gosec // below a billion
}

// saveTimes writes the times that are not in the file, durably.
func (s *Store) saveTimes() error {
	s.times.mu.Lock()
	if s.times.timer != nil {
		s.times.timer.Stop()
		s.times.timer = nil
	}
	saving := maps.Clone(s.times.unsaved)
	s.times.mu.Unlock()
	if len(saving) == 0 {
		return nil
	}
	err := s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucketTimes))
		for doc, t := range saving {
			if err := store(b, doc, appendTime(appendTime(nil, t.Modified), t.Changed)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write times: %w", err)
	}
	s.times.mu.Lock()
	defer s.times.mu.Unlock()
	for doc, t := range saving {
		if s.times.unsaved[doc] == t {
			delete(s.times.unsaved, doc)
		}
	}
	return nil
}

// KeptID names a folder, or a document, whose contents are kept on this machine.
type KeptID struct {
	Document bool
	ID       archive.ID
}

func (k KeptID) bucket() string {
	if k.Document {
		return bucketKept
	}
	return bucketFolders
}

// Kept is where it was found last.
type Kept struct {
	// Line are the ids of the folders that lead to it: from the mandator or inbox down to the folder
	// itself, or to that of the document.
	Line []archive.ID `json:"line"`
	// Mandator is the name of the mandator, empty in an inbox (archive.InInbox).
	Mandator string `json:"mandator,omitempty"`
}

// Kept returns everything that is kept. What cannot be read is left out.
func (s *Store) Kept() map[KeptID]Kept {
	all := map[KeptID]Kept{}
	err := s.db.View(func(tx *bbolt.Tx) error {
		for _, of := range []KeptID{{}, {Document: true}} {
			err := tx.Bucket([]byte(of.bucket())).ForEach(func(k, v []byte) error {
				var kept Kept
				if len(k) == 8 && json.Unmarshal(v, &kept) == nil {
					all[KeptID{of.Document, archive.ID(binary.BigEndian.Uint64(k))}] = kept //nolint:gosec // bits
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // the store is closed: nothing is known
		return nil
	}
	return all
}

// SetKept stores that something is kept; nil forgets it.
func (s *Store) SetKept(of KeptID, kept *Kept) error {
	if kept == nil {
		return s.put(of.bucket(), of.ID, nil)
	}
	if err := s.putJSON(of.bucket(), of.ID, kept); err != nil {
		return fmt.Errorf("note what is kept: %w", err)
	}
	return nil
}
