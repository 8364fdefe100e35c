package fs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// A program that opens one directory after the other within a subtree walks over it: find,
// ls -R, rsync, an indexer. What lies below is then asked for ahead, many folders with one
// request (ahead.go). A person who opens folders, however deep, is no walk.

const (
	// walkOpens is how many directories a program opens before that is a walk.
	walkOpens = 3
	// walkPause is the longest time between the answer to one of them and the next.
	walkPause = 500 * time.Millisecond
	// walkMemory is how long a walk is remembered after its last open: programs copy
	// documents, or wait for a slow reader, in between.
	walkMemory = time.Minute
	// maxWalks bounds the programs that are watched.
	maxWalks = 64
	// firstBudget is how many folders are asked for at once when a walk begins; each time
	// that the walk needs more it doubles.
	firstBudget = 512
)

// walks are the programs that open directories, by process.
type walks struct {
	now func() time.Time

	mu    sync.Mutex
	byPID map[uint32]*walk // guarded by mu
	// lookups are those by names, of all processes. Guarded by mu.
	lookups lookups
}

// walk is what one program opens, or what is looked up. Fields are guarded by mu of walks.
type walk struct {
	top    *dir      // it opened this one, and then only what lies below
	opened int       // directories, one soon after the other
	last   time.Time // when the last of them was answered
	budget int       // folders to ask for at once
	// lookups says that it opens no directories and is told by the names that are looked up.
	lookups bool
	// looks says that it looks at documents, beyond their names, kinds and numbers.
	looks atomic.Bool
	// further says that the structure of a mandator was asked for: next time all of it is.
	// Guarded by turn of ahead.
	further bool
}

// caller is the process that a request comes from, 0 when that is not known.
func caller(ctx context.Context) uint32 {
	if c, ok := fuse.FromContext(ctx); ok {
		return c.Pid
	}
	return 0
}

// opening notes that a program opens a directory, and returns its walk, nil while it is
// none.
func (ws *walks) opening(pid uint32, d *dir) *walk {
	if pid == 0 {
		return nil
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	now := ws.now()
	w := ws.byPID[pid]
	if w == nil || now.Sub(w.last) > walkMemory || !d.isWithin(w.top) {
		if w == nil && len(ws.byPID) >= maxWalks {
			ws.forgetOldestLocked()
		}
		w = &walk{top: d, budget: firstBudget}
		ws.byPID[pid] = w
	}
	if now.Sub(w.last) > walkPause && w.opened < walkOpens {
		w.opened = 0
	}
	w.opened++
	w.last = now
	if w.opened < walkOpens {
		return nil
	}
	return w
}

// answered notes when a program was answered, from which its pause counts.
func (ws *walks) answered(pid uint32) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.byPID[pid]; w != nil {
		w.last = ws.now()
	}
}

func (ws *walks) forgetOldestLocked() {
	var oldest uint32
	for pid, w := range ws.byPID {
		if o := ws.byPID[oldest]; o == nil || w.last.Before(o.last) {
			oldest = pid
		}
	}
	delete(ws.byPID, oldest)
}

// spend returns how many folders the walk may ask for at once, and doubles that for the
// next time.
func (ws *walks) spend(w *walk) int {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	budget := w.budget
	w.budget = min(2*budget, 1<<30)
	return budget
}

// isWithin reports whether the directory is top or lies below it.
func (d *dir) isWithin(top *dir) bool {
	for ; d != nil; d, _ = d.place() {
		if d == top {
			return true
		}
	}
	return false
}
