package prefetch

import (
	"maps"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

const (
	// subtreesFor is how long the shape of a subtree is used to choose what to prefetch. It is
	// never shown to anybody.
	subtreesFor = time.Minute
	// recursionPause is for how long recursive lists are not used after one that failed or
	// cannot be trusted.
	recursionPause = 10 * time.Minute
	// maxVain is how many lists in a row may have no document of a sub-folder before a service
	// is taken for one that does not list them.
	maxVain = 3
)

// subtrees is what is known of the folders below others, and of recursive lists. Nothing else
// is locked under mu.
type subtrees struct {
	mu    sync.Mutex
	known map[archive.ID]subtree // +checklocks:mu
	// proven says that the service's recursive lists do hold documents of sub-folders.
	proven bool // +checklocks:mu
	// vain counts the lists in a row that did not prove it.
	vain int // +checklocks:mu
	// off is until when no recursive list is asked for.
	off time.Time // +checklocks:mu
}

// subtree is what a structure said about a folder.
type subtree struct {
	children []archive.ID
	folders  int // in it, itself included
	fetched  time.Time
}

// of returns what is known of the subtree of a folder.
func (s *subtrees) of(id archive.ID, now time.Time) (subtree, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.known[id]
	return t, ok && now.Sub(t.fetched) < subtreesFor
}

// add takes in what a structure said, and evicts what is too old.
func (s *subtrees) add(grown map[archive.ID]subtree, now time.Time) {
	s.evict(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) == 0 {
		s.known = grown
		return
	}
	maps.Copy(s.known, grown)
}

// below are the folders in the subtree of id, itself included.
func (s *subtrees) below(id archive.ID) []archive.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := append(make([]archive.ID, 0, max(s.known[id].folders, 1)), id)
	for at := 0; at < len(all); at++ {
		all = append(all, s.known[all[at]].children...)
	}
	return all
}

// evict removes what is too old to be used.
func (s *subtrees) evict(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, t := range s.known {
		if now.Sub(t.fetched) >= subtreesFor {
			delete(s.known, id)
		}
	}
	if len(s.known) == 0 {
		s.known = nil // a map keeps the memory of what it once took
	}
}

// recursive reports whether a recursive list of top holds the documents of its sub-folders,
// as far as can be told: this list does, or an earlier one did.
func (s *subtrees) recursive(top archive.ID, lists *cache.PackedLists) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proven = s.proven || lists.Beside(top)
	if !s.proven {
		s.vain++
	}
	return s.proven
}

// mayList reports whether recursive lists are of use.
func (s *subtrees) mayList(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !now.Before(s.off) && (s.proven || s.vain < maxVain)
}

// distrust uses no recursive list for a while.
func (s *subtrees) distrust(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = now.Add(recursionPause)
}
