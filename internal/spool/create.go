package spool

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Create begins an empty file, with the descriptive fields of r. It is volatile: Sync and the
// transitions make it durable.
func (s *Spool) Create(r Record) (*Upload, error) {
	u, err := s.create(s.fresh(r), unsynced)
	if err != nil {
		return nil, fmt.Errorf("create an upload: %w", err)
	}
	return u, nil
}

// uploadSize is what an upload takes of the disk beside its bytes, generously.
const uploadSize = 16 << 10

// create writes the record of a new upload. The error is ENOSPC when that would take of the reserve:
// uploads need it to be recorded as sent, and thousands of refused ones would use it up.
func (s *Spool) create(r Record, as durability) (*Upload, error) {
	if err := s.saw(s.budget.mayTake(uploadSize, 0)); err != nil {
		return nil, err
	}
	u := newUpload(s, r)
	u.mu.Lock()
	defer u.mu.Unlock()
	err := u.storeLocked(&r, as)
	if err == nil {
		err = s.fault(PointCreated)
	}
	if err != nil {
		_ = s.writeRemoval(u.id, false) // it has no bytes: the next run fails it, at worst
		s.journal.Release(u.at)
		return nil, err
	}
	s.remember(u)
	return u, nil
}

// fresh is the record of a new upload with the descriptive fields of r.
func (s *Spool) fresh(r Record) Record {
	now := s.now()
	r = r.clone()
	blank := Record{Version: recordVersion, ID: s.ids.next(now), State: Created, Created: now, Changed: now}
	blank.keepOwned(&r)
	r.Directory = false
	return r
}

// remember makes an upload one of the spool's.
func (s *Spool) remember(u *Upload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uploads[u.id] = u
}

func (s *Spool) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uploads, id)
}

// idLength is the length of an id: nanoseconds since 1970 in base 36, enough until 2120.
const idLength = 12

// validID reports whether s is an id. It then is a harmless file name.
func validID(s string) bool {
	return len(s) == idLength && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// ids gives out ids that ascend, also when the clock does not.
type ids struct {
	mu   sync.Mutex
	last int64 // +checklocks:mu
}

// seen notes an id that is in use.
func (g *ids) seen(id string) {
	n, _ := strconv.ParseInt(id, 36, 64) // each id fits
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(g.last, n)
}

// next returns an id that was not given out and not seen.
func (g *ids) next(now time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(now.UnixNano(), g.last+1, 0)
	s := strconv.FormatInt(g.last, 36)
	return strings.Repeat("0", max(0, idLength-len(s))) + s
}
