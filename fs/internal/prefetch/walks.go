package prefetch

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// Walks prefetches for walks: the folders below one with a single structure that is not lazy,
// and their documents with a single recursive list. Both are offered to the listings, which
// answer with them when the walk opens the folder.
type Walks struct {
	*detector
	ctx      context.Context // ends what is in flight at the end of the mount
	o        Options
	subtrees subtrees
	// turn is held by the one prefetch that is in flight: who waits for it then finds what it needs.
	turn chan struct{}
}

// NewWalks makes Walks that has seen nothing. Its requests end with ctx.
func NewWalks(ctx context.Context, o Options) *Walks {
	return &Walks{ctx: ctx, o: o, detector: newDetector(o.Now), turn: make(chan struct{}, 1)}
}

// Opening notes that a program opens the first directory of a path, which goes up to the root,
// and returns its walk, nil while it does not walk. It returns when all is prefetched that the
// walk needs of the directory and of folders near it, or ctx ends.
func (p *Walks) Opening(ctx context.Context, pid uint32, path []Folder) *Walk {
	w := p.opening(pid, path)
	if w != nil {
		p.prefetch(ctx, w, path)
	}
	return w
}

// LookingUp is Opening for a name that somebody looks up in a directory that wants a listing.
func (p *Walks) LookingUp(ctx context.Context, path []Folder) {
	w := p.lookingUp(path)
	defer p.lookedUp()
	if w != nil {
		p.prefetch(ctx, w, path)
	}
}

// prefetch prefetches what a walk needs of the first directory of a path, and of folders near it.
// It goes on when ctx ends, for the next who waits.
func (p *Walks) prefetch(ctx context.Context, w *Walk, path []Folder) {
	if !path[0].Wants() {
		return
	}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	done := make(chan struct{})
	p.o.Go(func() {
		defer close(done)
		defer func() { <-p.turn }()
		if !path[0].Wants() || !p.structureAround(w, path) { // another walk brought it
			return
		}
		if top, ok := p.widest(w, path, p.spend(w)); ok {
			p.listBelow(top)
		}
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// structureAround makes the subtree of the first directory of a path known.
func (p *Walks) structureAround(w *Walk, path []Folder) (known bool) {
	if _, known := p.subtrees.of(path[0].ID(), p.o.Now()); known {
		return true
	}
	_, err := p.Structure(p.ctx, p.area(w, path).ID())
	return err == nil
}

// Structure returns all folders below one, and offers the children of each.
func (p *Walks) Structure(ctx context.Context, top archive.ID) ([]archive.Folder, error) {
	offers := p.o.Folders.Ahead()
	defer offers.End()
	s, err := p.o.Service.Structure(ctx, top, false)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if p.o.Answered(err) != nil {
		return nil, err
	}
	if list := s.Folders; len(list) == 1 && list[0].ID == top { // itself, not its children
		s.Folders = list[0].Children
	}
	grown := map[archive.ID]subtree{}
	plant(grown, offers, top, s, p.o.Now())
	p.subtrees.add(grown, p.o.Now())
	time.AfterFunc(subtreesFor+time.Second, func() { p.subtrees.evict(p.o.Now()) })
	return s.Folders, nil
}

// plant adds the subtree of a folder, which s has below it, and offers the children of each
// folder. It returns how many folders are in it.
func plant(grown map[archive.ID]subtree, offers *cache.Ahead[archive.ID, archive.Structure], id archive.ID, s archive.Structure, now time.Time) int {
	t := subtree{children: make([]archive.ID, len(s.Folders)), folders: 1, fetched: now}
	plain := archive.Structure{Free: s.Free, Folders: make([]archive.Folder, len(s.Folders))}
	for i := range s.Folders {
		c := &s.Folders[i]
		plain.Folders[i] = archive.Folder{ID: c.ID, Name: c.Name}
		t.children[i] = c.ID
		t.folders += plant(grown, offers, c.ID, archive.Structure{Free: s.Free, Folders: c.Children}, now)
	}
	offers.Offer(id, plain)
	grown[id] = t
	return t.folders
}

// widest is the outermost folder of a path, within the walk and below the root, whose subtree has
// at most so many folders; false when its list brings no more than that of the first one alone.
func (p *Walks) widest(w *Walk, path []Folder, budget int) (top archive.ID, ok bool) {
	for _, at := range path[:len(path)-1] {
		t, known := p.subtrees.of(at.ID(), p.o.Now())
		if !known || t.folders > budget {
			break
		}
		if t.folders > 1 {
			top, ok = at.ID(), true
		}
		if at == w.over() {
			break
		}
	}
	return top, ok
}

// listBelow lists all documents in the subtree of a folder.
func (p *Walks) listBelow(top archive.ID) {
	if !p.subtrees.mayList(p.o.Now()) {
		return
	}
	offers := p.o.Documents.Ahead()
	defer offers.End()
	options := p.o.List
	options.Recursive = true
	var lists *cache.PackedLists
	err := p.o.Service.EachDocument(p.ctx, top, options, func() func(*archive.Document) {
		lists = new(cache.PackedLists)
		return lists.Add
	})
	if p.ctx.Err() != nil {
		return
	}
	if archive.Away(p.o.Answered(err)) {
		return // it says nothing about lists
	}
	if err != nil || !p.offer(offers, top, lists) {
		p.subtrees.distrust(p.o.Now())
	}
	if lists != nil {
		p.o.Decoded(lists.Len())
	}
}

// offer offers the folders of a subtree what a recursive list says of them, and those without
// documents an empty list. It offers nothing and returns false when the list cannot be trusted:
// it does not tell where a document lies, or lacks all documents of a folder that is known to
// have some.
func (p *Walks) offer(offers *cache.Ahead[archive.ID, []archive.Document], top archive.ID, lists *cache.PackedLists) bool {
	if lists.Has(0) {
		return false
	}
	below := []archive.ID{top}
	if p.subtrees.recursive(top, lists) {
		below = p.subtrees.below(top)
	}
	for _, id := range below {
		if lists.Has(id) {
			continue
		}
		if known, ok := p.o.Documents.Peek(id); ok && len(known.Value) > 0 && p.o.Documents.Fresh(id) {
			return false
		}
	}
	for _, id := range below { // what is not among them is younger than the structure
		offers.OfferPacked(id, lists.Of(id))
	}
	return true
}
