package state

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/archivefs/archivefs/archive"
)

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
