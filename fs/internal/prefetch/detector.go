package prefetch

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// needed is how many directories a program opens, or are looked up in, before that is a
	// walk.
	needed = 3
	// pause is the longest time between the answer to one of them and the next.
	pause = 500 * time.Millisecond
	// memory is how long a walk is remembered after its last event: programs copy documents, or
	// wait for a slow reader, in between.
	memory = time.Minute
	// maxPrograms bounds the programs that are watched.
	maxPrograms = 64
	// firstBudget is how many folders are prefetched at once when a walk begins; each time that
	// the walk needs more it doubles.
	firstBudget = 512
	// lookupBudget is firstBudget of a walk by lookups. It is less because few of the documents
	// may be looked at.
	lookupBudget = 128
	// proven is how many prefetched folders a walk by lookups comes to before it goes on to
	// another mandator with the first name that is looked up there.
	proven = 16
)

// detector notices that programs walk over a subtree: events go in, and out comes the walk that
// an event is a part of.
//
// One that opens a directory soon after the other, all within the first, walks: find, ls -R,
// rsync, an indexer. A person who opens folders, however deep, does not.
//
// Tools that are handed paths (cat, cp, a backup with a list of files) never call OPENDIR and
// often run as many short processes. So what the whole mount is asked for is watched, too:
// lookups in three folders, none within another, that nobody has listed. Such a walk goes over
// what all of them lie in, and only from few folders on: somebody who looks at one document,
// however deep, asks for that alone.
//
// A directory is given as its path: itself, the one that it lies in, and so on, the root last;
// a path is never changed afterwards. The detector calls nothing but the clock and starts no
// goroutine.
type detector struct {
	now func() time.Time

	mu    sync.Mutex
	byPID map[uint32]*Walk // +checklocks:mu
	// lookups are those of all processes.
	lookups lookups // +checklocks:mu
}

// Walk is what one program opens, or what all of them look up. A nil Walk is none.
type Walk struct {
	top     []Folder // it began with this one, and then came to only what lies below
	lookups bool     // it opens no directories and is noticed by the names that are looked up

	opened  int       // directories, one soon after the other; guarded by mu of the detector
	last    time.Time // when the last of them was answered; guarded by mu of the detector
	budget  int       // folders to prefetch at once; guarded by mu of the detector
	further bool      // area was called before; guarded by mu of the detector

	looks atomic.Bool
}

// lookups are the directories that names are looked up in. Guarded by mu of the detector.
type lookups struct {
	apart [][]Folder // asked for lately, none within another; fewer than needed
	last  time.Time  // when the last of them was
	walk  *Walk      // what they came to, nil for none
	ahead int        // prefetched folders that the walk came to
}

// newDetector makes a detector that has seen nothing.
func newDetector(now func() time.Time) *detector {
	return &detector{now: now, byPID: map[uint32]*Walk{}}
}

// over is the directory that the walk goes over.
func (w *Walk) over() Folder { return w.top[0] }

// Look notes that the walk looks at documents, beyond their names, kinds and numbers.
func (w *Walk) Look() { w.looks.Store(true) }

// Looks reports whether the walk has looked at a document. A nil walk is taken to.
func (w *Walk) Looks() bool { return w == nil || w.looks.Load() }

// opening notes that a program opens a directory, and returns its walk, nil while it is none.
// Whose process is not known (0) does not walk.
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

// Opened notes when a program was answered, from which its pause counts.
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

// lookingUp notes that a name is looked up in a directory that has to be asked for, and returns
// the walk that this is a part of, nil for none. A walk that goes on outside of the folder where
// it began goes over the next one around both.
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
		case len(top) > 1, l.ahead >= proven: // beyond the mandator only what has proved right
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

// lookedUp notes when a lookup was answered, from which the pause counts.
func (d *detector) lookedUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lookups.last = d.now()
}

// LookingUpPrefetched notes that a name is looked up in a directory that was prefetched or listed.
func (d *detector) LookingUpPrefetched() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lookups.ahead++
	d.lookups.last = d.now()
}

// spend returns how many folders may be prefetched at once for the walk, and doubles that for
// the next time.
func (d *detector) spend(w *Walk) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	budget := w.budget
	w.budget = min(2*budget, 1<<30)
	return budget
}

// area is the folder of which the structure is to be asked for when the walk has come to a
// folder: at first its mandator, or what the walk began with; when a walk over the root goes on
// to another mandator, the root.
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

// add notes a directory in place of those that it lies in: who looks up a path comes through
// them.
func (l *lookups) add(at []Folder) {
	if slices.ContainsFunc(l.apart, func(other []Folder) bool { return within(other, at) }) {
		return
	}
	l.apart = append(slices.DeleteFunc(l.apart, func(other []Folder) bool { return within(at, other) }), at)
}

// within reports whether a directory is top or lies below it.
func within(at, top []Folder) bool { return slices.Contains(at, top[0]) }

// common is the innermost directory that both lie in, or are.
func common(a, b []Folder) []Folder {
	for !within(b, a) {
		a = a[1:]
	}
	return a
}
