package prefetch

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// Walks prefetches for walks: all folders below one with a single structure request, and their documents with a single
// recursive list. Both are offered to the caches of listings, which serve them when the walk opens a folder.
type Walks struct {
	*detector
	ctx      context.Context // cancels prefetches at the end of the mount
	o        Options
	subtrees subtrees
	// entered has a channel for each mandator whose structure Entering has requested, closed by the answer.
	entered sync.Map

	mu sync.Mutex
	// flight is the one prefetch in flight, nil for none. Those who wait for it often need no other.
	flight *flight // +checklocks:mu
}

type flight struct {
	top   archive.ID    // the folder whose subtree is listed, 0 for none; set before known is closed
	known chan struct{} // closed when top is known
	done  chan struct{} // closed at the end
}

// NewWalks makes a Walks. Its requests end with ctx.
func NewWalks(ctx context.Context, o Options) *Walks {
	return &Walks{ctx: ctx, o: o, detector: newDetector(o.Now)}
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

// near is Options.Near by default: a service that answers a listing sooner is so near that a path costs
// less by one request for each folder than by the structure of a mandator.
const near = 3 * time.Millisecond

// patience is how long Entering waits for a structure: a very large one costs more than it saves, and
// must not keep a slow line from the requests of programs.
const patience = 2 * time.Second

// Entering notes that a folder is looked up in a mandator that wants a listing. The first time, and
// unless the service is near, it requests the structure of the mandator in the background, so that a
// path is known after one round trip, however many folders it goes through.
func (p *Walks) Entering(mandator archive.ID) {
	if p.o.Near < 0 {
		return
	}
	answered := make(chan struct{})
	if _, before := p.entered.LoadOrStore(mandator, answered); before {
		return
	}
	p.o.Go(func() {
		defer close(answered)
		time.Sleep(cmp.Or(p.o.Near, near))
		if !p.o.Folders.Fresh(mandator) {
			ctx, cancel := context.WithTimeout(p.ctx, patience)
			defer cancel()
			_, _ = p.Structure(ctx, mandator) // an error leaves each folder to its own listing
		}
	})
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
// prefetch in flight goes on when ctx ends. A walk by lookups does not wait for one that lists other
// folders: a listing of its own takes no longer.
func (p *Walks) prefetch(ctx context.Context, w *Walk, path []Folder) {
	for path[0].Wants() {
		f, own := p.join(w, path)
		select {
		case <-f.known:
		case <-ctx.Done():
			return
		}
		if w.lookups && !slices.ContainsFunc(path, func(at Folder) bool { return at.ID() == f.top }) {
			return
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return
		}
		if own { // else the one in flight may have brought it
			return
		}
	}
}

// join returns the prefetch in flight, which is its own if there was none.
func (p *Walks) join(w *Walk, path []Folder) (f *flight, own bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.flight != nil {
		return p.flight, false
	}
	f = &flight{known: make(chan struct{}), done: make(chan struct{})}
	p.flight = f
	p.o.Go(func() {
		if p.structureAround(w, path) {
			f.top, _ = p.widest(w, path, min(p.spend(w), p.subtrees.most()))
		}
		close(f.known)
		if f.top != 0 {
			p.listBelow(f.top)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.flight = nil
		close(f.done)
	})
	return f, true
}

// structureAround learns the subtree of the first directory of a path, and reports whether it is known.
func (p *Walks) structureAround(w *Walk, path []Folder) (known bool) {
	for _, at := range path {
		if answered, ok := p.entered.Load(at.ID()); ok {
			<-answered.(chan struct{})
		}
	}
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
	grown := map[archive.ID]subtree{top: {folders: 1, fetched: p.o.Now()}}
	if len(s.Folders) > 0 { // else what was there before tells whether to believe that
		plant(grown, offers, top, s, p.o.Now())
	}
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
		if known, ok := p.o.Documents.Peek(id); ok && len(known.Value) > 0 && (lists.Len() == 0 || p.o.Documents.Fresh(id)) {
			return false
		}
	}
	for _, id := range below { // other folders in lists are newer than the structure
		offers.OfferPacked(id, lists.Of(id))
	}
	return true
}
