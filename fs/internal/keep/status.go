package keep

import (
	"time"

	"github.com/archivefs/archivefs/archive"
)

// The states of a Keeper.
const (
	Listing    = "listing"    // what is marked is being listed
	Fetching   = "fetching"   // contents are being fetched
	Waiting    = "waiting"    // the service does not answer, or is busy; Why says so
	Disk       = "disk"       // the disk is full; Why says so
	Complete   = "complete"   // every content is here
	Incomplete = "incomplete" // some contents could not be fetched; Why has the last reason
)

// Status describes what is kept. Bytes are those of the contents.
type Status struct {
	State string `json:"state"`
	// Why is the reason for Waiting, Disk or Incomplete, and what happens next.
	Why string `json:"why,omitempty"`
	// Marked are how many folders and documents a person marked.
	Marked int `json:"marked"`
	// Marks are those that the service shows, as far as they were found.
	Marks []Mark `json:"marks,omitempty"`
	Count        // of all
	// Gone are marked folders and documents that the service does not show any more.
	Gone int `json:"gone,omitempty"`
	// Listed is when all that is marked was listed last.
	Listed time.Time `json:"listed,omitzero"`
}

// Mark is a folder or document that a person marked.
type Mark struct {
	ID       archive.ID `json:"id"`
	Document bool       `json:"document,omitempty"`
	Path     string     `json:"path"`
	Count               // in and below it, even if that is marked, too
}

// Count counts documents and their bytes.
type Count struct {
	// Documents are how many documents are to be here, Bytes what is here of them.
	Documents int   `json:"documents"`
	Bytes     int64 `json:"bytes"`
	// Missing are how many of them are not here, or have changed at the service since; MissingBytes
	// their bytes, as far as the service tells lengths.
	Missing      int   `json:"missing"`
	MissingBytes int64 `json:"missing-bytes,omitempty"`
}

// add counts an item that a round found.
func (c *Count) add(it *item) {
	c.Documents++
	c.Bytes += it.had
	if it.missing {
		c.Missing++
		c.MissingBytes += max(it.size, 0)
	}
}

// fetched counts an item that was fetched, and is of this size.
func (c *Count) fetched(it *item, size int64) {
	c.Bytes += size - it.had
	if it.missing {
		c.Missing--
		c.MissingBytes -= max(it.size, 0)
	}
}

// Status returns the current status, nil if nothing is kept.
func (k *Keeper) Status() *Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.marks) == 0 {
		return nil
	}
	s := k.status
	s.Marked = len(k.marks)
	if k.total != nil {
		s.Count = *k.total
	}
	for _, m := range k.found {
		s.Marks = append(s.Marks, *m)
	}
	if k.changed || s.State == "" {
		s.State, s.Why = Listing, ""
	}
	return &s
}

// note changes the status.
func (k *Keeper) note(change func(*Status)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(&k.status)
}

// in notes a state.
func (k *Keeper) in(state, why string) {
	k.note(func(s *Status) { s.State, s.Why = state, why })
}
