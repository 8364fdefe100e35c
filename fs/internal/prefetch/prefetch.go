// Package prefetch requests listings and contents before programs need them: Walks prefetches the listings that a walk
// over a subtree will come to, ReadAhead the documents of a folder that are likely to be opened next.
//
// Nothing depends on a prefetch: what cannot be prefetched is requested when somebody needs it. Walks has one prefetch
// of listings in flight, ReadAhead a bounded number of contents; both end with the context that they were made with.
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
	// subtreesFor is how long the shape of a subtree is used to choose what to prefetch. It is used for nothing else.
	subtreesFor = time.Minute
	// recursionPause is how long no recursive list is requested after one failed or could not be trusted.
	recursionPause = 10 * time.Minute
	// maxVain is how many recursive lists in a row may lack documents of sub-folders before the
	// service is assumed not to list them.
	maxVain = 3
	// maxDocuments is about how many documents a recursive list may have. A walk waits for each list as a whole.
	maxDocuments = 128 << 10
)

// subtrees remembers the shape of subtrees, and how useful recursive lists are. Nothing else is locked under mu.
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

const (
	// readPause is the longest time between two opens in a folder that belong together.
	readPause = 2 * time.Second
	// firstWindow and maxWindow bound the number of documents that may be prefetched and not opened yet.
	firstWindow, maxWindow = 2, 16
	// MaxContent is the size in bytes of the largest document that is prefetched.
	MaxContent = 1 << 20
	// maxReads bounds the folders, and the programs, that are watched.
	maxReads = 64
)

// ReadAhead prefetches contents for programs that open the documents of a folder one after another.
// A single open prefetches nothing. The second one prefetches the next two documents, and each open of
// a prefetched document doubles this window. A window full of unopened documents stops it. A program
// that left at most half of it unopened starts its next folder with the same window.
type ReadAhead struct {
	ctx context.Context // cancels prefetches at the end of the mount
	now func() time.Time
	run func(func())
	// inFlight holds a token for each prefetch in flight.
	inFlight chan struct{}

	mu sync.Mutex
	// folders are the folders in which documents are being read.
	folders map[Folder]*reads // +checklocks:mu
	// byPID is what each program read last.
	byPID map[uint32]*reads // +checklocks:mu
}

// reads is the reading of one folder. Fields are guarded by mu of ReadAhead.
type reads struct {
	opened   int       // documents opened within readPause of each other that had not been cached
	last     time.Time // when the last of them was opened
	window   int       // how many may be prefetched and not opened yet
	unopened map[archive.ID]bool
}

// NewReadAhead makes a ReadAhead with at most inFlight prefetches in flight; 0 disables it. run runs
// them in the background. They end with ctx.
func NewReadAhead(ctx context.Context, inFlight int, run func(func()), now func() time.Time) *ReadAhead {
	return &ReadAhead{
		ctx: ctx, now: now, run: run, inFlight: make(chan struct{}, max(inFlight, 0)),
		folders: map[Folder]*reads{}, byPID: map[uint32]*reads{},
	}
}

// Opening notes that a program opens a document of the folder, and returns how many of the next ones
// to prefetch. cached says that its content needs no request.
func (a *ReadAhead) Opening(pid uint32, in Folder, doc archive.ID, cached bool) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, now := a.folders[in], a.now()
	used := r != nil && r.unopened[doc]
	switch {
	case cached && !used, cap(a.inFlight) == 0:
		return 0
	case r == nil || now.Sub(r.last) > readPause:
		r = a.beginLocked(pid, in)
	}
	r.last = now
	r.opened++
	if used {
		delete(r.unopened, doc)
		r.window = min(2*r.window, maxWindow)
	}
	if pid != 0 {
		a.byPID[pid] = r
	}
	if r.opened < 2 && r.window == firstWindow {
		return 0
	}
	return r.window - len(r.unopened)
}

// beginLocked watches a folder. It takes over the window of the program's previous folder if at most
// half of that is unopened.
// +checklocks:a.mu
func (a *ReadAhead) beginLocked(pid uint32, in Folder) *reads {
	now := a.now()
	evictReads(a.folders, now)
	evictReads(a.byPID, now)
	r := &reads{window: firstWindow, unopened: map[archive.ID]bool{}}
	if before := a.byPID[pid]; before != nil && now.Sub(before.last) <= readPause && 2*len(before.unopened) <= before.window {
		r.window = max(before.window, firstWindow)
	}
	a.folders[in] = r
	return r
}

// evictReads removes reads that have paused for readPause, or all when maxReads is reached.
func evictReads[K comparable](all map[K]*reads, now time.Time) {
	for k, r := range all {
		if now.Sub(r.last) > readPause {
			delete(all, k)
		}
	}
	if len(all) >= maxReads {
		clear(all)
	}
}

// Fetch prefetches a document of the folder by calling fetch in the background, and reports whether it
// does: not when the document is too large or prefetched already, or when the window or the limit in
// flight is reached. A size of 0 is unknown. An error of fetch stops the read-ahead in the folder.
func (a *ReadAhead) Fetch(in Folder, doc archive.ID, size int64, fetch func(context.Context) error) bool {
	if size > MaxContent || !a.take(in, doc) {
		return false
	}
	a.run(func() {
		defer func() { <-a.inFlight }()
		if fetch(a.ctx) != nil {
			a.Stop(in)
		}
	})
	return true
}

// take reserves a place in the window and a token for a document, and reports whether it could.
func (a *ReadAhead) take(in Folder, doc archive.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.folders[in]
	if r == nil || r.unopened[doc] || len(r.unopened) >= r.window {
		return false
	}
	select {
	case a.inFlight <- struct{}{}:
	default:
		return false
	}
	r.unopened[doc] = true
	return true
}

// Stop ends the read-ahead in a folder, for instance after a program opened a document and read
// nothing, as Dolphin does with every document of a folder that it shows.
func (a *ReadAhead) Stop(in Folder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.folders[in]; r != nil {
		r.window = 0
	}
}
