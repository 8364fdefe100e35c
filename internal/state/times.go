package state

import (
	"encoding/binary"
	"fmt"
	"maps"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/archivefs/archivefs/archive"
)

// saveAfter is how much later than the first of them times are written.
const saveAfter = time.Second

// times are the modification times that are not in the file yet; the zero time forgets one.
type times struct {
	mu      sync.Mutex
	unsaved map[archive.ID]time.Time // +checklocks:mu
	// timer is nil while nothing is to be saved.
	timer *time.Timer // +checklocks:mu
}

// Time returns the modification time kept for a document.
func (s *Store) Time(doc archive.ID) (time.Time, bool) {
	s.times.mu.Lock()
	t, unsaved := s.times.unsaved[doc]
	s.times.mu.Unlock()
	if unsaved {
		return t, !t.IsZero()
	}
	v := s.get(bucketTimes, doc)
	if len(v) != 12 {
		return time.Time{}, false
	}
	seconds, nanos := binary.BigEndian.Uint64(v), binary.BigEndian.Uint32(v[8:])
	return time.Unix(int64(seconds), int64(nanos)), true //nolint:gosec // the bits of an int64, as written below
}

// SetTime keeps the modification time of a document; the zero time forgets it. It may be lost
// when the program ends within a second: a time is not worth a wait for the disk.
func (s *Store) SetTime(doc archive.ID, t time.Time) {
	s.times.mu.Lock()
	defer s.times.mu.Unlock()
	s.times.unsaved[doc] = t
	if s.times.timer == nil {
		s.times.timer = time.AfterFunc(saveAfter, func() { _ = s.saveTimes() }) // Close tries again, and reports errors
	}
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
			v := binary.BigEndian.AppendUint64(nil, uint64(t.Unix()))    //nolint:gosec // bits
			v = binary.BigEndian.AppendUint32(v, uint32(t.Nanosecond())) //nolint:gosec // below a billion
			if t.IsZero() {
				v = nil
			}
			if err := store(b, doc, v); err != nil {
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
		if s.times.unsaved[doc].Equal(t) {
			delete(s.times.unsaved, doc)
		}
	}
	return nil
}
