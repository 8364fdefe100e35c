// Package state keeps what users said about documents and folders and the archive has no place for: the times of files
// that were put in or changed here, the keywords of inbox documents until these are archived, the upload defaults of
// folders, and which of them are kept on this machine. It is one bbolt file. A change is durable when the call returns;
// times are written together, a second later.
package state

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/archivefs/archivefs/archive"
)

// Store is an open state file. It is safe for concurrent use.
type Store struct {
	db    *bbolt.DB
	times times
}

// The buckets; keys are IDs as 8 bytes, big endian.
const (
	bucketTimes    = "times-v2"          // document: modification time, then change time (timeSize)
	bucketKeywords = "keywords-v1"       // inbox document: JSON array of strings
	bucketDefaults = "defaults-v1"       // folder: JSON object of attributes by their names
	bucketFolders  = "kept-folders-v1"   // folder: JSON of Kept
	bucketKept     = "kept-documents-v1" // document: JSON of Kept
)

// Open opens the store at path and creates it where it does not exist, for the user alone (0600).
func Open(path string) (*Store, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 5 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("open state %s: %w", path, err)
	}
	db.MaxBatchDelay = 0 // a change waits for no other; those that meet share a sync
	err = os.Chmod(path, 0o600)
	if err == nil {
		err = db.Update(func(tx *bbolt.Tx) error {
			for _, b := range []string{bucketTimes, bucketKeywords, bucketDefaults, bucketFolders, bucketKept} {
				if _, err := tx.CreateBucketIfNotExists([]byte(b)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("open state %s: %w", path, errors.Join(err, db.Close()))
	}
	return &Store{db: db, times: times{unsaved: map[archive.ID]Times{}}}, nil
}

// Close writes what is left and closes the file.
func (s *Store) Close() error { return errors.Join(s.saveTimes(), s.db.Close()) }

// Keywords returns the keywords kept for an inbox document; ok says whether any were set.
func (s *Store) Keywords(doc archive.ID) (keywords []string, ok bool) {
	v := s.get(bucketKeywords, doc)
	if v == nil || json.Unmarshal(v, &keywords) != nil {
		return nil, false
	}
	return keywords, true
}

// SetKeywords keeps keywords for an inbox document until it is archived; nil forgets them.
func (s *Store) SetKeywords(doc archive.ID, keywords []string) error {
	if keywords == nil {
		return s.put(bucketKeywords, doc, nil)
	}
	return s.putJSON(bucketKeywords, doc, keywords)
}

// WithKeyword returns the inbox documents for which a keyword is kept, in any case, by ascending id.
func (s *Store) WithKeyword(word string) (docs []archive.ID) {
	_ = s.db.View(func(tx *bbolt.Tx) error { // its only error is that the store is closed
		return tx.Bucket([]byte(bucketKeywords)).ForEach(func(k, v []byte) error {
			var keywords []string
			if json.Unmarshal(v, &keywords) == nil && slices.ContainsFunc(keywords, func(have string) bool { return strings.EqualFold(have, word) }) {
				docs = append(docs, archive.ID(binary.BigEndian.Uint64(k))) //nolint:gosec // bits
			}
			return nil
		})
	})
	return docs
}

// Defaults returns what was set on a folder itself for uploads into it, or below it, to take
// along unless the file says otherwise.
func (s *Store) Defaults(folder archive.ID) archive.Attributes {
	var values map[string]json.RawMessage
	if v := s.get(bucketDefaults, folder); v != nil && json.Unmarshal(v, &values) != nil {
		return archive.Attributes{}
	}
	var defaults archive.Attributes
	for _, a := range defaults.All() {
		if v, ok := values[a.Name]; ok && json.Unmarshal(v, a.Value) != nil {
			return archive.Attributes{}
		}
	}
	return defaults
}

// SetDefaults keeps the defaults of a folder; empty ones forget them.
func (s *Store) SetDefaults(folder archive.ID, defaults archive.Attributes) error {
	values := map[string]any{}
	for _, a := range defaults.All() {
		if a.IsSet() {
			values[a.Name] = a.Value
		}
	}
	if len(values) == 0 {
		return s.put(bucketDefaults, folder, nil)
	}
	return s.putJSON(bucketDefaults, folder, values)
}

func (s *Store) get(bucket string, id archive.ID) (value []byte) {
	_ = s.db.View(func(tx *bbolt.Tx) error { // its only error is that the store is closed: nothing is known
		if v := tx.Bucket([]byte(bucket)).Get(key(id)); v != nil {
			value = append([]byte{}, v...)
		}
		return nil
	})
	return value
}

func (s *Store) put(bucket string, id archive.ID, value []byte) error {
	err := s.db.Batch(func(tx *bbolt.Tx) error {
		return store(tx.Bucket([]byte(bucket)), id, value)
	})
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// store puts a value; nil deletes it.
func store(b *bbolt.Bucket, id archive.ID, value []byte) error {
	if value == nil {
		return b.Delete(key(id))
	}
	return b.Put(key(id), value)
}

func (s *Store) putJSON(bucket string, id archive.ID, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return s.put(bucket, id, b)
}

func key(id archive.ID) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(id)) //nolint:gosec // bits
}

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
	if v := s.get(bucketTimes, doc); len(v) == 2*timeSize {
		if t.Modified.UnmarshalBinary(v[:timeSize]) != nil || t.Changed.UnmarshalBinary(v[timeSize:]) != nil {
			return Times{}
		}
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

// timeSize is the size of a time on disk, as time.Time.AppendBinary writes it in UTC.
const timeSize = 15

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
			v, err := t.Modified.UTC().AppendBinary(nil)
			if err == nil {
				v, err = t.Changed.UTC().AppendBinary(v)
			}
			if err == nil {
				err = store(b, doc, v)
			}
			if err != nil {
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
