package node

import (
	"sync"

	"github.com/archivefs/archivefs/fs/internal/tree"
)

// The kernel keeps what it reads of a directory, where it is asked to, and lists it again by
// itself. It still tells of each OPENDIR, and is then allowed to use what it keeps only when
// it would be told the same once more: so nobody sees an older listing than without it. What
// it keeps it drops when a directory is opened without being asked to keep anything, and
// only then; and two handles with different listings must never fill it together.

// kernelList is what the kernel keeps of one directory.
type kernelList struct {
	mu sync.Mutex
	// kept is what it read, or may read, through the handles that it keeps something of;
	// nil when it has nothing.
	kept *told // +checklocks:mu
	// open is how many of these handles are open.
	open int // +checklocks:mu
	// opened is how many were opened at all.
	opened uint64 // +checklocks:mu
}

// told is a listing as the kernel is told it.
type told struct {
	version uint64 // of the names
	// serials are of the listings, with which names and attributes expire in the kernel.
	serials [2]uint64
	byName  bool // documents are told by name alone
	// whole says that everything was told with its attributes. It is guarded by mu of kernelList.
	whole bool
}

// drop is what a handle takes along of which the kernel keeps nothing; 0: it tells nothing.
type drop uint64

// serves reports whether the kernel may list what it was told as t in place of want: it
// lacks no attributes either, which it would have to ask for one by one.
func (t *told) serves(want *told) bool {
	return t.version == want.version && t.serials == want.serials && (t.whole || want.byName)
}

// opening reports whether the kernel is to keep what it reads through a handle that is told
// want, and may use what it has. Else it drops that; dropped is then called after it did so.
func (k *kernelList) opening(want *told) (keep bool, d drop) {
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

// dropped notes that the kernel has opened a handle of which it keeps nothing. It has nothing
// then, unless another handle was opened since.
func (k *kernelList) dropped(d drop) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d == drop(k.opened+1) {
		k.kept = nil
	}
}

// wasWhole notes that all that is kept was told with attributes.
func (k *kernelList) wasWhole() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept.whole = true
}

// closed notes the end of a handle of which the kernel kept something.
func (k *kernelList) closed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open--
}

// toldOf is what a directory is listed as, and its entries. Those of one that is folded are
// left for who reads them: the kernel may list it by itself.
func toldOf(d *tree.Dir, byName bool) (t *told, entries []*tree.Entry) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if !d.Shown.IsCompacted() {
		entries = d.Shown.Held.Names.All()
	}
	return &told{version: d.Shown.Version, serials: [2]uint64{d.Subs.Serial, d.Files.Serial}, byName: byName}, entries
}
