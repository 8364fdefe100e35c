package disk

import (
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Disk is the disk. Its methods can be called by several goroutines.
type Disk struct {
	mu      sync.Mutex
	root    *inode
	last    uint64    // the last inode number given; guarded by mu
	changes []*change // of entries, not durable yet, oldest first; guarded by mu
	plan    []*planned
	struck  map[string]int // faults that struck, by name; guarded by mu
}

// inode is a file or a directory. Its fields are guarded by Disk.mu; id and dir are
// constant.
type inode struct {
	id    uint64
	dir   bool
	perm  uint32
	mtime time.Time
	name  string // the last one it had, for the plan of faults

	data    []byte  // of a file, as programs see it
	stable  []byte  // as it is on the medium
	pending []write // what stable lacks, oldest first

	names map[string]*inode // of a directory, as programs see it
	kept  map[string]*inode // as it is on the medium
	place place             // of a directory: its name on the medium
}

// New returns an empty disk.
func New() *Disk {
	d := &Disk{struck: map[string]int{}}
	d.root = d.newInodeLocked(true, 0o700)
	return d
}

// newInodeLocked makes a file or directory without a name. The caller holds mu, or is
// alone.
func (d *Disk) newInodeLocked(dir bool, perm uint32) *inode {
	d.last++
	n := &inode{id: d.last, dir: dir, perm: perm & 0o777, mtime: time.Now()}
	if dir {
		n.names, n.kept = map[string]*inode{}, map[string]*inode{}
	}
	return n
}

// lookup returns the entry of a directory.
func (d *Disk) lookup(dir *inode, name string) (*inode, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := dir.names[name]; n != nil {
		return n, 0
	}
	return nil, syscall.ENOENT
}

// attr is what stat shows of an inode.
type attr struct {
	id    uint64
	dir   bool
	perm  uint32
	size  int
	mtime time.Time
}

func (d *Disk) attr(n *inode) attr {
	d.mu.Lock()
	defer d.mu.Unlock()
	return attr{n.id, n.dir, n.perm, len(n.data), n.mtime}
}

// describe changes permissions and time, where they are given. Neither is data: they count
// as durable.
func (d *Disk) describe(n *inode, perm *uint32, mtime *time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if perm != nil {
		n.perm = *perm & 0o777
	}
	if mtime != nil {
		n.mtime = *mtime
	}
}

// list returns the entries of a directory by name.
func (d *Disk) list(dir *inode) []listed {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []listed
	for _, name := range slices.Sorted(maps.Keys(dir.names)) {
		n := dir.names[name]
		all = append(all, listed{name, n.id, n.dir})
	}
	return all
}

type listed struct {
	name string
	id   uint64
	dir  bool
}
