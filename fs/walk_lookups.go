package fs

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/fs/internal/names"
)

// A program that is given paths looks documents up in one folder after the other, and opens
// none of these: cat, cp, a backup with a list of files. Often it is many short processes,
// so it is recognised by what the whole mount is asked for: names in three folders, none
// within another, that nobody has listed. What lies around them is then asked for as for
// a walk, from the folder that all of them lie in, and from few folders on: somebody who
// looks at one document, however deep, asks for that alone.

const (
	// lookupBudget is how many folders are asked for at once when such a walk begins. It is
	// less than firstBudget, because few of the documents may be looked at.
	lookupBudget = 128
	// provenFolders is how many folders such a walk comes to that it was ahead of, before it
	// goes on to another mandator with the first name that is looked up there.
	provenFolders = 16
)

// lookups are the directories that names are looked up in. Guarded by mu of walks.
type lookups struct {
	apart []*dir    // asked for lately, none within another; at most walkOpens
	last  time.Time // when the last of them was
	walk  *walk     // what they came to, nil for none
	ahead int       // folders that the walk came to and that were listed ahead of it
	// half is how many of these are half of what was listed, with those before; 0 once the walk
	// has come to that.
	half int
}

// lookAheadOf is lookAhead for a name that is looked up in d, when it has to be asked for.
func (d *dir) lookAheadOf(ctx context.Context, name string) {
	if !d.walkable() || d.finds(name) || names.IsJunk(name) {
		return
	}
	if d.fresh() {
		if w := d.fs.walks.wasAhead(); w != nil {
			d.fs.goOn(w)
		}
		return
	}
	w := d.fs.walks.lookingUp(d)
	defer d.fs.walks.lookedUp()
	if w != nil {
		d.fs.lookAhead(ctx, w, d)
	}
}

// finds reports whether a name needs nothing that was not shown here before. A name without
// an extension is taken for one of a folder.
func (d *dir) finds(name string) bool {
	if !d.enough(&d.subs, needNames) {
		return false
	}
	e := d.get(name)
	return e != nil && e.dir != nil || !looksLikeDocument(name) || !d.wantsDocuments(needNames)
}

// looksLikeDocument reports whether a name is rather one of a document than of a folder.
func looksLikeDocument(name string) bool {
	return names.Ext(name) != ""
}

// lookingUp notes that a name is looked up in a directory that has to be asked for, and
// returns the walk that this is a part of, nil for none. A walk that goes on outside of the
// folder where it began goes over the next one around both.
func (ws *walks) lookingUp(d *dir) *walk {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	l, now := &ws.lookups, ws.now()
	if now.Sub(l.last) > walkPause {
		l.apart, l.ahead = nil, 0
	}
	if now.Sub(l.last) > walkMemory {
		l.walk = nil
	}
	l.last = now
	if w := l.walk; w != nil {
		switch top := commonDir(w.top, d); {
		case top == w.top:
			return w
		case top.kind != rootDir, l.ahead >= provenFolders:
			l.walk = &walk{top: top, budget: w.budget, lookups: true}
			return l.walk
		}
	}
	l.add(d)
	if len(l.apart) < walkOpens {
		return nil
	}
	top := d
	for _, other := range l.apart {
		top = commonDir(top, other)
	}
	l.apart = nil
	l.walk = &walk{top: top, budget: lookupBudget, lookups: true}
	return l.walk
}

// wasAhead notes that a name is looked up in a directory that was listed ahead of it. When the
// walk has come to half of what was, it returns the walk over what lies around that, nil
// otherwise, and where there is only another mandator.
func (ws *walks) wasAhead() *walk {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	l := &ws.lookups
	l.ahead++
	l.last = ws.now()
	if l.walk == nil || l.half == 0 || l.ahead < l.half {
		return nil
	}
	l.half = 0
	around := l.walk.top.above()
	if around == nil || !around.walkable() {
		return nil
	}
	l.walk = &walk{top: around, budget: l.walk.budget, lookups: true}
	return l.walk
}

// listed notes that so many folders were listed ahead of a walk.
func (ws *walks) listed(w *walk, folders int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if l := &ws.lookups; l.walk == w {
		l.half = l.ahead + max(folders/2, provenFolders)
	}
}

// goOn looks ahead of a walk that did not come there yet, in the background. It lists all of the
// walk or nothing, so that it asks twice at most.
func (f *FileSystem) goOn(w *walk) {
	select {
	case f.ahead.turn <- struct{}{}:
	default:
		return // somebody waits, and sees to it
	}
	f.work.Go(func() {
		defer func() { <-f.ahead.turn }()
		budget := f.walks.spend(w)
		if !f.structureAround(f.ahead.ctx, w, w.top) {
			return
		}
		if t, known := f.ahead.tree(w.top.id(), f.now()); known && t.folders <= budget {
			f.listBelow(f.ahead.ctx, w.top)
			f.walks.listed(w, t.folders)
		}
	})
}

// lookedUp notes when a look-up was answered, from which the pause counts.
func (ws *walks) lookedUp() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.lookups.last = ws.now()
}

// add notes a directory in place of those that it lies in: who looks up a path comes
// through them. The caller holds mu of walks.
func (l *lookups) add(d *dir) {
	apart := l.apart[:0]
	for _, other := range l.apart {
		if other.isWithin(d) {
			return
		}
		if !d.isWithin(other) {
			apart = append(apart, other)
		}
	}
	l.apart = append(apart, d)
}

// commonDir is the innermost directory that both lie in, or are.
func commonDir(a, b *dir) *dir {
	for !b.isWithin(a) {
		a = a.above()
	}
	return a
}
