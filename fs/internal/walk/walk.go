// Package walk notices that programs walk over a subtree, so that what they will come to can be
// prefetched: events go in, and out comes the walk that an event is a part of.
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
// a path is never changed afterwards. The package calls nothing but the clock and starts no
// goroutine.
package walk

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

// Detector watches the programs that use a mount. It is safe for concurrent use.
type Detector[D comparable] struct {
	now func() time.Time

	mu    sync.Mutex
	byPID map[uint32]*Walk[D] // +checklocks:mu
	// lookups are those of all processes.
	lookups lookups[D] // +checklocks:mu
}

// Walk is what one program opens, or what is looked up.
type Walk[D comparable] struct {
	top     []D  // it began with this one, and then came to only what lies below
	lookups bool // it opens no directories and is noticed by the names that are looked up

	opened  int       // directories, one soon after the other; guarded by mu of the detector
	last    time.Time // when the last of them was answered; guarded by mu of the detector
	budget  int       // folders to prefetch at once; guarded by mu of the detector
	further bool      // Area was asked before; guarded by mu of the detector

	looks atomic.Bool
}

// lookups are the directories that names are looked up in. Guarded by mu of the detector.
type lookups[D comparable] struct {
	apart [][]D     // asked for lately, none within another; fewer than needed
	last  time.Time // when the last of them was
	walk  *Walk[D]  // what they came to, nil for none
	ahead int       // prefetched folders that the walk came to
	// further is how many of these let the walk go on to what lies around it; 0 while nothing
	// was prefetched for it, and once it went on.
	further int
}

// New makes a detector that has seen nothing.
func New[D comparable](now func() time.Time) *Detector[D] {
	return &Detector[D]{now: now, byPID: map[uint32]*Walk[D]{}}
}

// Top is the directory that the walk goes over.
func (w *Walk[D]) Top() D { return w.top[0] }

// Look notes that the walk looks at documents, beyond their names, kinds and numbers.
func (w *Walk[D]) Look() { w.looks.Store(true) }

// Looks reports whether the walk has looked at a document. A nil walk is taken to.
func (w *Walk[D]) Looks() bool { return w == nil || w.looks.Load() }

// Opening notes that a program opens a directory, and returns its walk, nil while it is none.
// Whose process is not known (0) does not walk.
func (d *Detector[D]) Opening(pid uint32, at []D) *Walk[D] {
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
		w = &Walk[D]{top: at, budget: firstBudget}
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
func (d *Detector[D]) Opened(pid uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.byPID[pid]; w != nil {
		w.last = d.now()
	}
}

// +checklocks:d.mu
func (d *Detector[D]) forgetOldestLocked() {
	var oldest uint32
	for pid, w := range d.byPID {
		if o := d.byPID[oldest]; o == nil || w.last.Before(o.last) {
			oldest = pid
		}
	}
	delete(d.byPID, oldest)
}

// LookingUp notes that a name is looked up in a directory that has to be asked for, and returns
// the walk that this is a part of, nil for none. A walk that goes on outside of the folder where
// it began goes over the next one around both.
func (d *Detector[D]) LookingUp(at []D) *Walk[D] {
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
			return l.over(top, w.budget)
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
	return l.over(top, lookupBudget)
}

// LookedUp notes when a lookup was answered, from which the pause counts.
func (d *Detector[D]) LookedUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lookups.last = d.now()
}

// LookingUpPrefetched notes that a name is looked up in a directory that need not be asked for.
// When the walk has come to half of what was prefetched for it, it goes on to what lies around
// that: such a walk is returned, once, and otherwise nil; so it is where only another mandator
// lies around it.
func (d *Detector[D]) LookingUpPrefetched() *Walk[D] {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := &d.lookups
	l.ahead++
	l.last = d.now()
	if l.walk == nil || l.further == 0 || l.ahead < l.further {
		return nil
	}
	l.further = 0
	if around := l.walk.top[1:]; len(around) > 1 {
		return l.over(around, l.walk.budget)
	}
	return nil
}

// Prefetched notes that so many folders were prefetched for a walk.
func (d *Detector[D]) Prefetched(w *Walk[D], folders int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := &d.lookups; l.walk == w {
		l.further = l.ahead + max(folders/2, proven)
	}
}

// Spend returns how many folders may be prefetched at once for the walk, and doubles that for
// the next time.
func (d *Detector[D]) Spend(w *Walk[D]) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	budget := w.budget
	w.budget = min(2*budget, 1<<30)
	return budget
}

// Area is the directory of which the structure is to be asked for when the walk has come to a
// folder: at first its mandator, or what the walk began with; when a walk over the root goes on
// to another mandator, the root.
func (d *Detector[D]) Area(w *Walk[D], at []D) D {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := w.further && len(w.top) == 1 && !w.lookups
	w.further = true
	if all {
		return w.Top()
	}
	for at[0] != w.Top() && len(at) > 2 {
		at = at[1:]
	}
	return at[0]
}

// over begins a walk by lookups.
func (l *lookups[D]) over(top []D, budget int) *Walk[D] {
	l.walk = &Walk[D]{top: top, budget: budget, lookups: true}
	return l.walk
}

// add notes a directory in place of those that it lies in: who looks up a path comes through
// them.
func (l *lookups[D]) add(at []D) {
	if slices.ContainsFunc(l.apart, func(other []D) bool { return within(other, at) }) {
		return
	}
	l.apart = append(slices.DeleteFunc(l.apart, func(other []D) bool { return within(at, other) }), at)
}

// within reports whether a directory is top or lies below it.
func within[D comparable](at, top []D) bool { return slices.Contains(at, top[0]) }

// common is the innermost directory that both lie in, or are.
func common[D comparable](a, b []D) []D {
	for !within(b, a) {
		a = a[1:]
	}
	return a
}
