package fs

import (
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// treesFor is how long the shape of a subtree is used to choose what to ask for. What it
// shows is never shown to anybody.
const treesFor = time.Minute

// tree returns what is known of the subtree of a folder.
func (a *ahead) tree(id archive.ID, now time.Time) (subtree, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, ok := a.trees[id]
	return t, ok && now.Sub(t.fetched) < treesFor
}

// below are the folders in the subtree of id, itself included.
func (a *ahead) below(id archive.ID) []archive.ID {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := append(make([]archive.ID, 0, max(a.trees[id].folders, 1)), id)
	for at := 0; at < len(all); at++ {
		all = append(all, a.trees[all[at]].children...)
	}
	return all
}

// forgetOldLocked frees what is not used any more. The caller holds mu.
func (a *ahead) forgetOldLocked(now time.Time) {
	for id, t := range a.trees {
		if now.Sub(t.fetched) >= treesFor {
			delete(a.trees, id)
		}
	}
	if len(a.trees) == 0 {
		a.trees = map[archive.ID]subtree{} // a map keeps the memory of what it once took
	}
}

// forgetTreesLater forgets the subtrees that are known now when they are not used any more.
func (f *FileSystem) forgetTreesLater() {
	time.AfterFunc(treesFor+time.Second, func() {
		f.ahead.mu.Lock()
		defer f.ahead.mu.Unlock()
		f.ahead.forgetOldLocked(f.now())
	})
}

// recursive reports whether a recursive list of top holds the documents of its sub-folders,
// as far as can be told: this list does, or an earlier one did.
func (a *ahead) recursive(top archive.ID, lists *cache.PackedLists) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.proven = a.proven || lists.Beside(top)
	if !a.proven {
		a.vain++
	}
	return a.proven
}

// mayList reports whether recursive lists are of use.
func (a *ahead) mayList(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !now.Before(a.off) && (a.proven || a.vain < maxVain)
}

// pause uses no recursive list until then.
func (a *ahead) pause(until time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.off = until
}
