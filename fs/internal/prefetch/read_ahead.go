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
