package node

import (
	"sync"
	"time"

	"github.com/archivefs/archivefs/fs/internal/tree"
)

// Where it is asked to, the kernel caches what it reads of a directory and lists it again by itself (FOPEN_CACHE_DIR).
// It still sends OPENDIR, whose answer allows it to use its cache only while a new listing would be the same: so nobody
// sees an older listing than without the cache. The kernel drops its cache when a directory is opened without
// FOPEN_KEEP_CACHE, and only then. Two handles with different listings must never fill it together.

// kernelList is what the kernel caches of one directory.
type kernelList struct {
	mu sync.Mutex
	// kept is the listing that the kernel reads, or may have read, through the handles that fill its
	// cache; nil when it has nothing.
	kept *listing // +checklocks:mu
	// open is how many of these handles are open.
	open int // +checklocks:mu
	// opened is how many were opened at all.
	opened uint64 // +checklocks:mu
}

// listing is a listing as the kernel gets it.
type listing struct {
	version uint64 // of the names
	// serials are of the service's listings, with which names and attributes expire in the kernel.
	serials [2]uint64
	byName  bool // documents have no attributes
	// searches says that the directory of saved searches is among the names.
	searches bool
	// estimates says that the kernel may trust estimates of lengths, if it has any.
	estimates bool
	// whole says that everything had its attributes, guessed that there were estimates among them. They
	// are guarded by mu of kernelList.
	whole, guessed bool
}

// drop identifies an open that makes the kernel drop its cache; 0: none does.
type drop uint64

// serves reports whether the kernel may list t from its cache in place of want: t lacks no attributes
// either, which the kernel would request one by one.
func (t *listing) serves(want *listing) bool {
	return t.version == want.version && t.serials == want.serials && t.searches == want.searches &&
		(want.byName || t.whole && (want.estimates || !t.guessed))
}

// opening reports whether the kernel is to cache what it reads through a handle with the listing want,
// and may use what it has. Otherwise it drops its cache, after which dropped is called with d.
func (k *kernelList) opening(want *listing) (keep bool, d drop) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.kept == nil:
		k.kept = want
	case k.kept.serves(want):
	case k.open > 0:
		return false, 0 // they may go on filling what is dropped
	default:
		return false, drop(k.opened + 1)
	}
	k.open++
	k.opened++
	return true, 0
}

// dropped notes that the kernel has opened a handle that fills no cache. Its cache is empty then, unless
// another handle was opened since.
func (k *kernelList) dropped(d drop) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d == drop(k.opened+1) {
		k.kept = nil
	}
}

// wasWhole notes that everything in the cache has its attributes, with or without estimates.
func (k *kernelList) wasWhole(guessed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept.whole, k.kept.guessed = true, guessed
}

// closed notes the end of a handle that fills the cache.
func (k *kernelList) closed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open--
}

// listingOf returns the listing of a directory and its entries. The entries of a compacted directory
// are left to the reader: the kernel may list it from its cache.
func listingOf(d *tree.Dir, byName bool) (t *listing, entries []*tree.Entry) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if !d.Shown.IsCompacted() {
		entries = d.Shown.Held.Names.All()
	}
	return &listing{version: d.Shown.Version, serials: [2]uint64{d.Subs.Serial, d.Files.Serial}, byName: byName}, entries
}

// forgotten collects directories with documents that the kernel forgot, and compacts them.
type forgotten struct {
	mu   sync.Mutex
	dirs map[*tree.Dir]bool // +checklocks:mu
	// rest fires forgetRest after the last add.
	rest *time.Timer // +checklocks:mu
}

// forgetRest is the delay between the last forgotten document and compaction: the kernel forgets many inodes in a row.
const forgetRest = time.Second

func (g *forgotten) add(d *tree.Dir) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dirs == nil {
		g.dirs = map[*tree.Dir]bool{}
	}
	g.dirs[d] = true
	if g.rest == nil {
		g.rest = time.AfterFunc(forgetRest, g.compact)
	} else {
		g.rest.Reset(forgetRest)
	}
}

// compact compacts the collected directories. Dir.Compact skips those that are still in use.
func (g *forgotten) compact() {
	g.mu.Lock()
	dirs := g.dirs
	g.dirs = nil
	g.mu.Unlock()
	for d := range dirs {
		d.Compact()
	}
}
