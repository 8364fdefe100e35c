package prefetch

import (
	"context"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
)

const (
	// readPause is the longest time between two opens in a folder that belong together.
	readPause = 2 * time.Second
	// firstWindow and maxWindow bound the documents that were prefetched and are not opened.
	firstWindow, maxWindow = 2, 16
	// maxContent is the largest document in bytes that is prefetched.
	maxContent = 1 << 20
	// maxReads bounds the folders, and the programs, that are watched.
	maxReads = 64
)

// ReadAhead prefetches contents for programs that open one document of a folder after the
// other: from the second on the next ones, at first two, and twice as many each time that one
// is used. A program that used them goes on so in its next folder. One document that is opened
// prefetches no other, and what is not used ends it.
type ReadAhead struct {
	ctx context.Context // ends what is in flight at the end of the mount
	now func() time.Time
	run func(func())
	// inFlight holds a token for each fetch.
	inFlight chan struct{}

	mu sync.Mutex
	// folders are those of which documents are being read.
	folders map[Folder]*reads // +checklocks:mu
	// byPID is what each program read last.
	byPID map[uint32]*reads // +checklocks:mu
}

// reads is what is read of one folder. Fields are guarded by mu of ReadAhead.
type reads struct {
	opened   int       // documents that were not cached before, one soon after the other
	last     time.Time // when the last of them was opened
	window   int       // how many may be prefetched and not opened so far
	unopened map[archive.ID]bool
}

// NewReadAhead makes a ReadAhead with so many fetches in flight at most, which run runs in the
// background and which end with ctx. With none it prefetches nothing.
func NewReadAhead(ctx context.Context, inFlight int, run func(func()), now func() time.Time) *ReadAhead {
	return &ReadAhead{
		ctx: ctx, now: now, run: run, inFlight: make(chan struct{}, max(inFlight, 0)),
		folders: map[Folder]*reads{}, byPID: map[uint32]*reads{},
	}
}

// Opening notes that a program opens a document of the folder, and returns how many of the next
// ones are to be prefetched. cached says that its content was there without a request.
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

// beginLocked watches a folder. A program that comes from one of which it has used what was
// prefetched goes on as it did there.
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

// evictReads removes what is over, or all when there is too much.
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

// Fetch prefetches a document of the folder by calling fetch in the background, and reports
// whether it does: not when the document is large, was prefetched before, or enough are in
// flight. An error ends the read-ahead in the folder; whoever opens the document learns it.
func (a *ReadAhead) Fetch(in Folder, doc archive.ID, size int64, fetch func(context.Context) error) bool {
	if size > maxContent || !a.take(in, doc) {
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

// take notes that a document is about to be prefetched, and takes a token for it.
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

// Stop ends the read-ahead in a folder: a program opened a document and read nothing, as Dolphin
// does with every document of a folder that it shows.
func (a *ReadAhead) Stop(in Folder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.folders[in]; r != nil {
		r.window = 0
	}
}
