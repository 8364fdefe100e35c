package prefetch

import (
	"maps"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

const (
	// subtreesFor is how long the shape of a subtree is used to choose what to prefetch. It is used
	// for nothing else.
	subtreesFor = time.Minute
	// recursionPause is how long no recursive list is requested after one failed or could not be
	// trusted.
	recursionPause = 10 * time.Minute
	// maxVain is how many recursive lists in a row may lack documents of sub-folders before the
	// service is assumed not to list them.
	maxVain = 3
	// maxDocuments is about how many documents a recursive list may have. A walk waits for each list
	// as a whole.
	maxDocuments = 128 << 10
)

// subtrees remembers the shape of subtrees, and how useful recursive lists are. Nothing else is locked
// under mu.
type subtrees struct {
	mu    sync.Mutex
	known map[archive.ID]subtree // +checklocks:mu
	// proven says that the service's recursive lists do include documents of sub-folders.
	proven bool // +checklocks:mu
	// vain counts the lists that did not prove it.
	vain int // +checklocks:mu
	// each is how many documents a folder of the last recursive list had on average, rounded up.
	each int // +checklocks:mu
	// off is until when no recursive list is requested.
	off time.Time // +checklocks:mu
}

// subtree is the shape of a folder's subtree.
type subtree struct {
	children []archive.ID
	folders  int // in the subtree, including its top
	fetched  time.Time
}

// of returns the subtree of a folder; false if it is unknown or expired.
func (s *subtrees) of(id archive.ID, now time.Time) (subtree, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.known[id]
	return t, ok && now.Sub(t.fetched) < subtreesFor
}

// add adds new subtrees and evicts expired ones.
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

// below returns the folders in the subtree of id, including id.
func (s *subtrees) below(id archive.ID) []archive.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := append(make([]archive.ID, 0, max(s.known[id].folders, 1)), id)
	for at := 0; at < len(all); at++ {
		all = append(all, s.known[all[at]].children...)
	}
	return all
}

// evict removes expired subtrees.
func (s *subtrees) evict(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, t := range s.known {
		if now.Sub(t.fetched) >= subtreesFor {
			delete(s.known, id)
		}
	}
	if len(s.known) == 0 {
		s.known = nil // a map keeps the memory of its largest size
	}
}

// recursive reports whether recursive lists are known to include the documents of sub-folders: this
// list of top does, or an earlier one did.
func (s *subtrees) recursive(top archive.ID, lists *cache.PackedLists) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proven = s.proven || lists.Beside(top)
	if !s.proven {
		s.vain++
	}
	return s.proven
}

// listed notes that a recursive list of so many folders had so many documents.
func (s *subtrees) listed(folders, documents int) {
	if folders == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.each = documents/folders + 1
}

// most returns how many folders the next recursive list may cover. It is never so few that a single
// large folder would end all such lists.
func (s *subtrees) most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(maxDocuments/max(s.each, 1), lookupBudget)
}

// mayList reports whether to request recursive lists.
func (s *subtrees) mayList(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !now.Before(s.off) && (s.proven || s.vain < maxVain)
}

// distrust suspends recursive lists for recursionPause.
func (s *subtrees) distrust(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = now.Add(recursionPause)
}
