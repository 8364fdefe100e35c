// Package prefetch requests listings and contents before programs need them: Walks prefetches the
// listings that a walk over a subtree will come to, ReadAhead the documents of a folder that are
// likely to be opened next.
//
// Nothing depends on a prefetch: what cannot be prefetched is requested when somebody needs it. Walks
// has one prefetch of listings in flight, ReadAhead a bounded number of contents; both end with the
// context that they were made with.
//
// The package knows nothing of FUSE or files. Everything in it is safe for concurrent use.
package prefetch

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// Folder is a directory of the mount. Two that are equal (==) are the same directory.
type Folder interface {
	// ID returns the folder's id, 0 for the root.
	ID() archive.ID
	// Wants reports whether a prefetched listing would be used: it is a folder of the archive, the
	// mount shows all its documents, and it cannot be listed without a request.
	Wants() bool
}

// Service answers requests for many folders at once.
type Service interface {
	// Structure returns the folders below parent: all of them, or only its children if lazy.
	Structure(ctx context.Context, parent archive.ID, lazy bool) (archive.Structure, error)
	// EachDocument passes the documents of a list one by one to the function that begin returns. It
	// calls begin again for each retry.
	EachDocument(ctx context.Context, folder archive.ID, options archive.ListOptions, begin func() func(*archive.Document)) error
}

// Options configure Walks.
type Options struct {
	Service Service
	// Answered gets the outcome of each request that was not cancelled.
	Answered func(error) error
	// Folders and Documents get the prefetched listings.
	Folders   *cache.Listings[archive.ID, archive.Structure]
	Documents *cache.Listings[archive.ID, []archive.Document]
	// List is passed to every list of documents.
	List archive.ListOptions
	// Decoded is called with the number of documents of each prefetched list.
	Decoded func(documents int)
	// Near is the time within which a near service answers a listing (Entering); 0 for 3 ms. A negative
	// one says that the service is near, however long it takes.
	Near time.Duration
	// Go runs a function in the background.
	Go  func(func())
	Now func() time.Time
}

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
