package fs

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/walk"
)

// ahead asks for what a walk will come to: the folders below one with a single structure
// that is not lazy, and their documents with a single recursive list. Both are offered to
// the listings, which answer with them when the walk opens the folder.
type ahead struct {
	ctx  context.Context //nolint:containedctx // ends what is under way at the end of the mount
	stop context.CancelFunc
	// turn is held by who asks: the others then find what they need.
	turn chan struct{}

	mu sync.Mutex
	// trees are folders whose whole subtree is known. Guarded by mu.
	trees map[archive.ID]subtree
	// proven says that the service's recursive lists do hold documents of sub-folders.
	// Guarded by mu.
	proven bool
	// vain counts the lists in a row that did not prove it. Guarded by mu.
	vain int
	// off is until when no recursive list is asked for. Guarded by mu.
	off time.Time
	// rest gives memory back a while after much was used. Guarded by mu.
	rest *time.Timer
	// unfolded counts documents since rest was set.
	unfolded atomic.Int64
}

// subtree is what a structure said about a folder.
type subtree struct {
	children []archive.ID
	folders  int // in it, itself included
	fetched  time.Time
}

const (
	// recursionPause is for how long recursive lists are not used after one that failed or
	// cannot be trusted.
	recursionPause = 10 * time.Minute
	// maxVain is how many lists in a row may tell nothing about sub-folders before a service
	// is taken for one that does not list them.
	maxVain = 3
)

func newAhead() *ahead {
	a := &ahead{turn: make(chan struct{}, 1), trees: map[archive.ID]subtree{}}
	a.ctx, a.stop = context.WithCancel(context.Background())
	return a
}

// lookAhead asks for what the walk needs of d, and of folders near it, unless that is known.
// It goes on when ctx ends, for the next who asks. What it cannot get is asked for alone,
// as without a walk.
func (f *FileSystem) lookAhead(ctx context.Context, w *walk.Walk[*dir], d *dir) {
	if !d.walkable() || d.fresh() {
		return
	}
	select {
	case f.ahead.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	done := make(chan struct{})
	f.work.Go(func() {
		defer close(done)
		defer func() { <-f.ahead.turn }()
		if d.fresh() || !f.structureAround(f.ahead.ctx, w, d) { // another walk brought it
			return
		}
		if a := f.widest(w, d, f.walks.Spend(w)); a != nil {
			f.listBelow(f.ahead.ctx, a)
			if t, known := f.ahead.tree(a.id(), f.now()); known {
				f.walks.Prefetched(w, t.folders)
			}
		}
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// lookAheadOf is lookAhead for a name that is looked up in d, when it has to be asked for.
func (d *dir) lookAheadOf(ctx context.Context, name string) {
	if !d.walkable() || d.finds(name) || names.IsJunk(name) {
		return
	}
	if d.fresh() {
		if w := d.fs.walks.LookingUpPrefetched(); w != nil {
			d.fs.goOn(w)
		}
		return
	}
	w := d.fs.walks.LookingUp(d.line())
	defer d.fs.walks.LookedUp()
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

// goOn looks ahead of a walk that did not come there yet, in the background. It lists all of the
// walk or nothing, so that it asks twice at most.
func (f *FileSystem) goOn(w *walk.Walk[*dir]) {
	select {
	case f.ahead.turn <- struct{}{}:
	default:
		return // somebody waits, and sees to it
	}
	f.work.Go(func() {
		defer func() { <-f.ahead.turn }()
		budget := f.walks.Spend(w)
		if !f.structureAround(f.ahead.ctx, w, w.Top()) {
			return
		}
		if t, known := f.ahead.tree(w.Top().id(), f.now()); known && t.folders <= budget {
			f.listBelow(f.ahead.ctx, w.Top())
			f.walks.Prefetched(w, t.folders)
		}
	})
}

// walkable reports whether a walk over the directory is looked ahead of: it is a folder of
// the archive, of which the mount shows all documents.
func (d *dir) walkable() bool {
	return d.kind.archives() && !d.isLocal() && d.fs.opts.List.CreatedAfter.IsZero()
}

// fresh reports whether a directory can be listed without a request.
func (d *dir) fresh() bool {
	id := d.id()
	return (d.enough(&d.subs, needListing) || d.fs.service.Children.Fresh(id)) &&
		(d.enough(&d.files, needListing) || d.fs.service.Documents.Fresh(id))
}

// structureAround makes the subtree of d known.
func (f *FileSystem) structureAround(ctx context.Context, w *walk.Walk[*dir], d *dir) (known bool) {
	if _, known := f.ahead.tree(d.id(), f.now()); known {
		return true
	}
	_, err := f.structureBelow(ctx, f.walks.Area(w, d.line()))
	return err == nil
}

// structureBelow asks for all folders below one, and offers the children of each.
func (f *FileSystem) structureBelow(ctx context.Context, top *dir) ([]archive.Folder, error) {
	offers := f.service.Children.Ahead()
	defer offers.End()
	s, err := f.service.Archive.Structure(ctx, top.id(), false)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if f.service.Answered(err) != nil {
		return nil, err
	}
	if list := s.Folders; len(list) == 1 && list[0].ID == top.id() { // itself, not its children
		s.Folders = list[0].Children
	}
	f.ahead.mu.Lock()
	defer f.ahead.mu.Unlock()
	f.ahead.forgetOldLocked(f.now())
	f.plantLocked(offers, top.id(), s)
	f.forgetTreesLater()
	return s.Folders, nil
}

// plantLocked notes the subtree of a folder, which s has below it, and offers the children
// of each. It returns the number of folders in it. The caller holds mu of ahead.
func (f *FileSystem) plantLocked(offers *cache.Ahead[archive.ID, archive.Structure], id archive.ID, s archive.Structure) int {
	t := subtree{children: make([]archive.ID, len(s.Folders)), folders: 1, fetched: f.now()}
	plain := archive.Structure{Free: s.Free, Folders: make([]archive.Folder, len(s.Folders))}
	for i := range s.Folders {
		c := &s.Folders[i]
		plain.Folders[i] = archive.Folder{ID: c.ID, Name: c.Name}
		t.children[i] = c.ID
		t.folders += f.plantLocked(offers, c.ID, archive.Structure{Free: s.Free, Folders: c.Children})
	}
	offers.Offer(id, plain)
	f.ahead.trees[id] = t
	return t.folders
}

// widest is the outermost directory around d, within the walk, whose subtree has at most so
// many folders; nil when one list brings no more than that of d alone.
func (f *FileSystem) widest(w *walk.Walk[*dir], d *dir, budget int) (a *dir) {
	for at := d; at.walkable(); at, _ = at.place() {
		t, known := f.ahead.tree(at.id(), f.now())
		if !known || t.folders > budget {
			break
		}
		if t.folders > 1 {
			a = at
		}
		if at == w.Top() {
			break
		}
	}
	return a
}

// listBelow lists all documents in the subtree of a folder.
func (f *FileSystem) listBelow(ctx context.Context, a *dir) {
	if !f.ahead.mayList(f.now()) {
		return
	}
	offers := f.service.Documents.Ahead()
	defer offers.End()
	options := f.opts.List
	options.Recursive = true
	var lists *cache.PackedLists
	err := f.service.Archive.EachDocument(ctx, a.id(), options, func() func(*archive.Document) {
		lists = new(cache.PackedLists)
		return lists.Add
	})
	if ctx.Err() != nil {
		return
	}
	if archive.Away(f.service.Answered(err)) {
		return // it says nothing about lists
	}
	if err != nil || !f.offerBelow(offers, a.id(), lists) {
		f.ahead.pause(f.now().Add(recursionPause))
	}
	if lists != nil && lists.Len() >= manyDocuments {
		f.work.Go(debug.FreeOSMemory)
		f.ahead.rests()
	}
}

// offerBelow offers the folders of a subtree what a recursive list says of them, and those
// without documents an empty list. It offers nothing and returns false when the list cannot be
// trusted: it does not tell where a document lies, or lacks all documents of a folder that is
// known to have some.
func (f *FileSystem) offerBelow(offers *cache.Ahead[archive.ID, []archive.Document], top archive.ID, lists *cache.PackedLists) bool {
	if lists.Has(0) {
		return false
	}
	below := []archive.ID{top}
	if f.ahead.recursive(top, lists) {
		below = f.ahead.below(top)
	}
	for _, id := range below {
		if lists.Has(id) {
			continue
		}
		if known, ok := f.service.Documents.Peek(id); ok && len(known.Value) > 0 && f.service.Documents.Fresh(id) {
			return false
		}
	}
	for _, id := range below { // what is not among them is younger than the structure
		offers.OfferPacked(id, lists.Of(id))
	}
	return true
}
