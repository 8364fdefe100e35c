package prefetch

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// needed is how many directories a program opens, or looks names up in, before that is a walk.
	needed = 3
	// pause is the longest time between the answer for one of these directories and the next one.
	pause = 500 * time.Millisecond
	// memory is how long a walk is remembered after its last event: between events, programs copy
	// documents or wait for a slow reader.
	memory = time.Minute
	// maxPrograms bounds the programs that are watched.
	maxPrograms = 64
	// firstBudget is how many folders the first prefetch of a walk may cover. The budget doubles with each prefetch.
	firstBudget = 512
	// lookupBudget is firstBudget for a walk by lookups. It is smaller because the walk may need only
	// few of the documents.
	lookupBudget = 128
	// proven is how many lookups a walk must make in prefetched folders before a single lookup extends
	// it to another mandator.
	proven = 16
)

// detector detects walks over a subtree. It gets events and returns the walk that an event belongs to.
//
// A program that opens directories in quick succession, all within the first one, walks: find, ls -R,
// rsync, an indexer. A person who opens folders, however deep, does not.
//
// Tools that are handed paths (cat, cp, a backup with a list of files) never call OPENDIR and
// often run as many short processes. So the lookups of all processes are watched, too: three folders
// that nobody has listed, none within another, make a walk. It covers the innermost folder that
// contains them all. A lookup of a single document, however deep, is no walk.
//
// A directory is given as its path: the directory and its ancestors, the root last. The detector
// keeps paths, which must not be changed. It calls nothing but the clock and starts no goroutine.
type detector struct {
	now func() time.Time

	mu    sync.Mutex
	byPID map[uint32]*Walk // +checklocks:mu
	// lookups are those of all processes.
	lookups lookups // +checklocks:mu
}

// Walk is a walk of one program, or one by the lookups of all programs. A nil Walk means no walk.
type Walk struct {
	top     []Folder // the path of the directory that contains the walk
	lookups bool     // detected by lookups, not by OPENDIR

	opened  int       // directories opened within pause of each other; guarded by mu of the detector
	last    time.Time // when the last of them was opened or answered; guarded by mu of the detector
	budget  int       // folders that the next prefetch may cover; guarded by mu of the detector
	further bool      // area was called before; guarded by mu of the detector

	looks atomic.Bool
}

// lookups watches the directories that names are looked up in. Guarded by mu of the detector.
type lookups struct {
	apart [][]Folder // recent directories, none within another; fewer than needed
	last  time.Time  // when the last lookup began or was answered
	walk  *Walk      // the current walk by lookups, nil for none
	ahead int        // lookups in prefetched or listed folders
}

func newDetector(now func() time.Time) *detector {
	return &detector{now: now, byPID: map[uint32]*Walk{}}
}

// over returns the directory that contains the walk.
func (w *Walk) over() Folder { return w.top[0] }

// Look notes that the walk needs more of a document than its name, kind and inode number.
func (w *Walk) Look() { w.looks.Store(true) }

// Looks reports whether Look was called. It is true for a nil Walk.
func (w *Walk) Looks() bool { return w == nil || w.looks.Load() }

// opening notes that a program opens a directory, and returns its walk, nil for none. An unknown
// process (0) never walks.
func (d *detector) opening(pid uint32, at []Folder) *Walk {
	if pid == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	w := d.byPID[pid]
	if w == nil || now.Sub(w.last) > memory || !within(at, w.top) {
		if w == nil && len(d.byPID) >= maxPrograms {
			d.forgetOldestLocked()
		}
		w = &Walk{top: at, budget: firstBudget}
		d.byPID[pid] = w
	}
	if now.Sub(w.last) > pause && w.opened < needed {
		w.opened = 0
	}
	w.opened++
	w.last = now
	if w.opened < needed {
		return nil
	}
	return w
}

// Opened notes that a program's OPENDIR was answered: its pause starts.
func (d *detector) Opened(pid uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.byPID[pid]; w != nil {
		w.last = d.now()
	}
}

// +checklocks:d.mu
func (d *detector) forgetOldestLocked() {
	var oldest uint32
	for pid, w := range d.byPID {
		if o := d.byPID[oldest]; o == nil || w.last.Before(o.last) {
			oldest = pid
		}
	}
	delete(d.byPID, oldest)
}

// lookingUp notes a lookup in a directory that must be listed for it, and returns the walk that it belongs to, nil for
// none. A lookup outside of the walk's folder can extend the walk to the innermost folder that contains both.
func (d *detector) lookingUp(at []Folder) *Walk {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, now := &d.lookups, d.now()
	if now.Sub(l.last) > pause {
		l.apart, l.ahead = nil, 0
	}
	if now.Sub(l.last) > memory {
		l.walk = nil
	}
	l.last = now
	if w := l.walk; w != nil {
		switch top := common(w.top, at); {
		case len(top) == len(w.top):
			return w
		case len(top) > 1, l.ahead >= proven: // to another mandator only once it has proved useful
			return l.begin(top, w.budget)
		}
	}
	l.add(at)
	if len(l.apart) < needed {
		return nil
	}
	top := at
	for _, other := range l.apart {
		top = common(top, other)
	}
	l.apart = nil
	return l.begin(top, lookupBudget)
}

// lookedUp notes that a lookup was answered: the pause starts.
func (d *detector) lookedUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lookups.last = d.now()
}

// LookingUpPrefetched notes a lookup in a directory that was prefetched or listed.
func (d *detector) LookingUpPrefetched() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lookups.ahead++
	d.lookups.last = d.now()
}

// spend returns how many folders the next prefetch of the walk may cover, and doubles the budget.
func (d *detector) spend(w *Walk) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	budget := w.budget
	w.budget = min(2*budget, 1<<30)
	return budget
}

// area returns the folder whose structure to request for a walk that has come to the folder at: the
// walk's own folder or, if the walk covers the root, the mandator. From the second call on it is the
// root for a walk over the root, unless the walk is one by lookups.
func (d *detector) area(w *Walk, at []Folder) Folder {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := w.further && len(w.top) == 1 && !w.lookups
	w.further = true
	if all {
		return w.over()
	}
	for at[0] != w.over() && len(at) > 2 {
		at = at[1:]
	}
	return at[0]
}

// begin begins a walk by lookups.
func (l *lookups) begin(top []Folder, budget int) *Walk {
	l.walk = &Walk{top: top, budget: budget, lookups: true}
	return l.walk
}

// add notes a directory. It replaces its ancestors, which the lookup of a path passes through.
func (l *lookups) add(at []Folder) {
	if slices.ContainsFunc(l.apart, func(other []Folder) bool { return within(other, at) }) {
		return
	}
	l.apart = append(slices.DeleteFunc(l.apart, func(other []Folder) bool { return within(at, other) }), at)
}

// within reports whether a directory is top or lies below it.
func within(at, top []Folder) bool { return slices.Contains(at, top[0]) }

// common returns the path of the innermost directory that contains both.
func common(a, b []Folder) []Folder {
	for !within(b, a) {
		a = a[1:]
	}
	return a
}
