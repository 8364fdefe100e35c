package prefetch

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// Walks prefetches for walks: all folders below one with a single structure request, and their
// documents with a single recursive list. Both are offered to the caches of listings, which serve them
// when the walk opens a folder.
type Walks struct {
	*detector
	ctx      context.Context // cancels prefetches at the end of the mount
	o        Options
	subtrees subtrees
	// turn is held by the one prefetch in flight. Those who wait for it often need no other.
	turn chan struct{}
}

// NewWalks makes a Walks. Its requests end with ctx.
func NewWalks(ctx context.Context, o Options) *Walks {
	return &Walks{ctx: ctx, o: o, detector: newDetector(o.Now), turn: make(chan struct{}, 1)}
}

// Opening notes that a program opens the first directory of a path, whose last one is the root. It
// returns the program's walk, nil while it does not walk, when the prefetch for the directory and
// folders near it is complete, or when ctx ends.
func (p *Walks) Opening(ctx context.Context, pid uint32, path []Folder) *Walk {
	w := p.opening(pid, path)
	if w != nil {
		p.prefetch(ctx, w, path)
	}
	return w
}

// LookingUp is Opening for a lookup of a name in a directory that wants a listing.
func (p *Walks) LookingUp(ctx context.Context, path []Folder) {
	w := p.lookingUp(path)
	defer p.lookedUp()
	if w != nil {
		p.prefetch(ctx, w, path)
	}
}

// prefetch prefetches what a walk needs of the first directory of a path and of folders near it. A
// prefetch in flight goes on when ctx ends.
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
		if !path[0].Wants() || !p.structureAround(w, path) { // the previous prefetch may have brought it
			return
		}
		if top, ok := p.widest(w, path, min(p.spend(w), p.subtrees.most())); ok {
			p.listBelow(top)
		}
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// structureAround learns the subtree of the first directory of a path, and reports whether it is known.
func (p *Walks) structureAround(w *Walk, path []Folder) (known bool) {
	if _, known := p.subtrees.of(path[0].ID(), p.o.Now()); known {
		return true
	}
	_, err := p.Structure(p.ctx, p.area(w, path).ID())
	return err == nil
}

// Structure requests all folders below top, and offers the children of each.
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
	if list := s.Folders; len(list) == 1 && list[0].ID == top { // top itself in place of its children
		s.Folders = list[0].Children
	}
	grown := map[archive.ID]subtree{}
	plant(grown, offers, top, s, p.o.Now())
	p.subtrees.add(grown, p.o.Now())
	time.AfterFunc(subtreesFor+time.Second, func() { p.subtrees.evict(p.o.Now()) })
	return s.Folders, nil
}

// plant adds the subtree of a folder, s, to grown and offers the children of each of its folders. It
// returns the number of folders in the subtree.
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

// widest returns the outermost folder of a path, within the walk and below the root, whose subtree has
// at most budget folders. It returns false if that subtree is a single folder or too large.
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

// listBelow lists all documents in the subtree of a folder, and offers the lists of its folders.
func (p *Walks) listBelow(top archive.ID) {
	if !p.subtrees.mayList(p.o.Now()) {
		return
	}
	around, _ := p.subtrees.of(top, p.o.Now()) // it expires while it is listed
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
		return // this says nothing about recursive lists
	}
	if err != nil || !p.offer(offers, top, lists) {
		p.subtrees.distrust(p.o.Now())
	}
	if lists != nil {
		p.o.Decoded(lists.Len())
		p.subtrees.listed(around.folders, lists.Len())
	}
}

// offer splits a recursive list, and offers a list, if need be an empty one, for each folder of the
// subtree. It offers nothing and returns false if the list cannot be trusted: it does not say where a
// document lies, or lacks all documents of a folder that is known to have some.
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
	for _, id := range below { // other folders in lists are newer than the structure
		offers.OfferPacked(id, lists.Of(id))
	}
	return true
}
