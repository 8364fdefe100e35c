package fs

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// Programs that read a folder open one of its documents after the other. From the second
// on the next ones are fetched ahead, side by side: at first two, and as many more as turn
// out to be wanted. Who goes on to another folder is believed there from the first one on.
// One document that is opened fetches no other, and what is not used ends it.

const (
	// readPause is the longest time between two opens in a folder that belong together.
	readPause = 2 * time.Second
	// firstWindow and maxWindow bound the documents that are fetched ahead and not opened.
	firstWindow, maxWindow = 2, 16
	// maxEarly is the largest document in bytes that is fetched ahead.
	maxEarly = 1 << 20
	// maxSearch is how many entries of a folder are looked at for the next ones.
	maxSearch = 64
	// maxReads bounds the folders, and the programs, that are watched.
	maxReads = 64
)

// readAhead fetches documents that are likely to be opened next.
type readAhead struct {
	now func() time.Time
	// free holds a token for each fetch that may be under way.
	free chan struct{}

	mu sync.Mutex
	// folders are those of which documents are being read. Guarded by mu.
	folders map[*dir]*reads
	// byPID is what each program read last. Guarded by mu.
	byPID map[uint32]*reads
}

// reads is what is read of one folder. Fields are guarded by mu of readAhead.
type reads struct {
	opened int       // documents that were not cached before, one soon after the other
	last   time.Time // when the last of them was opened
	window int       // how many may be there that nobody has opened so far
	early  map[archive.ID]bool
}

func newReadAhead(now func() time.Time, abreast int) *readAhead {
	return &readAhead{
		now: now, free: make(chan struct{}, max(abreast, 0)),
		folders: map[*dir]*reads{}, byPID: map[uint32]*reads{},
	}
}

// opening notes that a program opens a document of the folder, and returns how many are to
// be fetched ahead. cached says that it was there without a request.
func (a *readAhead) opening(pid uint32, d *dir, doc archive.ID, cached bool) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, now := a.folders[d], a.now()
	used := r != nil && r.early[doc]
	switch {
	case cached && !used:
		return 0
	case r == nil || now.Sub(r.last) > readPause:
		r = a.beginLocked(pid, d)
	}
	r.last = now
	r.opened++
	if used {
		delete(r.early, doc)
		r.window = min(2*r.window, maxWindow)
	}
	if pid != 0 {
		a.byPID[pid] = r
	}
	if r.opened < 2 && r.window == firstWindow {
		return 0
	}
	return r.window - len(r.early)
}

// beginLocked watches a folder. A program that comes from one of which it has used what
// was fetched ahead goes on as it did there. The caller holds mu.
func (a *readAhead) beginLocked(pid uint32, d *dir) *reads {
	now := a.now()
	forgetReads(a.folders, now)
	forgetReads(a.byPID, now)
	r := &reads{window: firstWindow, early: map[archive.ID]bool{}}
	if before := a.byPID[pid]; before != nil && now.Sub(before.last) <= readPause && 2*len(before.early) <= before.window {
		r.window = max(before.window, firstWindow)
	}
	a.folders[d] = r
	return r
}

// forgetReads drops what is over, or all when there is too much.
func forgetReads[K comparable](all map[K]*reads, now time.Time) {
	for k, r := range all {
		if now.Sub(r.last) > readPause {
			delete(all, k)
		}
	}
	if len(all) >= maxReads {
		clear(all)
	}
}

// take notes that a document is about to be fetched ahead; false: it was before, or enough
// are under way.
func (a *readAhead) take(d *dir, doc archive.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.folders[d]
	if r == nil || r.early[doc] || len(r.early) >= r.window {
		return false
	}
	select {
	case a.free <- struct{}{}:
	default:
		return false
	}
	r.early[doc] = true
	return true
}

// failed ends the fetching ahead in a folder: what went wrong is told to those who open it.
func (a *readAhead) failed(d *dir) { a.stop(d) }

// unread ends it, too: a program that opens a document and reads nothing looks for something
// else. Dolphin does so with every document of a folder that it shows.
func (a *readAhead) unread(d *dir) { a.stop(d) }

func (a *readAhead) stop(d *dir) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.folders[d]; r != nil {
		r.window = 0
	}
}

// readNext fetches documents ahead of f, which is about to be opened for reading.
func (f *readable) readNext(ctx context.Context) {
	d, name := f.place()
	if cap(f.fs.early.free) == 0 || d == nil || !f.fs.reps.Settled() {
		return
	}
	key := f.key()
	if key.Representation == archive.Data {
		return
	}
	_, cached := f.fs.content.Trusted(key, f.maxAge(key.Representation))
	n := f.fs.early.opening(callerPID(ctx), d, key.Document, cached)
	if n <= 0 {
		return
	}
	for _, e := range after(d.entries(), name) {
		if n == 0 || !d.fetchEarly(e) {
			continue
		}
		n--
	}
}

// after returns the entries that follow the one of a name, some, then those from the first.
func after(entries []*entry, name string) []*entry {
	at := sort.Search(len(entries), func(i int) bool { return entries[i].name > name })
	next := entries[at:min(len(entries), at+maxSearch)]
	return append(slices.Clip(next), entries[:min(at, maxSearch-len(next))]...)
}

// fetchEarly fetches the entry's document into the cache, in the background, unless it is
// there, large, or of unknown length. It reports whether it does.
func (d *dir) fetchEarly(e *entry) bool {
	doc := e.doc.Load()
	if doc == nil || e.busy() {
		return false
	}
	f := d.fileOf(e)
	key := f.key()
	size, known := f.currentSize()
	if _, there := d.fs.content.Trusted(key, f.maxAge(key.Representation)); there || !known || size > maxEarly {
		return false
	}
	if !d.fs.early.take(d, doc.ID) {
		return false
	}
	d.fs.work.Go(func() {
		defer func() { <-d.fs.early.free }()
		if err := f.fetchWhole(d.fs.ahead.ctx, key); err != nil {
			d.fs.early.failed(d)
		}
	})
	return true
}

// fetchWhole returns when the cache has all of the content.
func (f *readable) fetchWhole(ctx context.Context, key cache.Key) error {
	r, err := f.openAs(ctx, key.Document, key.Representation)
	if err != nil {
		return err
	}
	err = r.Wait(ctx)
	_ = r.Close() // nothing was read
	return err
}
