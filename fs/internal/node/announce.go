package node

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// File managers do not list a folder again and again: they wait for events of inotify(7). The kernel sends these for
// what programs do on this machine, and FUSE has no message for what others did. So another process, the herald, does
// it once more: mknod(2) or mkdir(2) for a name that has come, unlink(2) or rmdir(2) for one that has gone. Its
// requests are answered from memory and change nothing:
//
//   - A lookup by the herald finds no name that has come, and something for each that has gone.
//   - mknod and mkdir return an inode without use, unlink and rmdir just succeed.
//
// None of these answers may be cached, so every other process gets its own at its next lookup, and the
// real inode. If the kernel knows a name already, mknod fails with EEXIST, and there is no event:
// whoever looked it up knows it, too. A name that has changed once more by then fails as well.
//
// The herald holds the lock of the directory meanwhile. Its answers wait for nothing.
//
// A file manager that was refused a thumbnail looks for it again when the document's attributes change. So
// when previews have become thumbnails, the herald calls chmod(2) for their documents, which changes
// nothing in an archive. The real inode answers.

const (
	// gather is how long changes of names are gathered for one herald.
	gather = 300 * time.Millisecond
	// mostNames is how many names of a folder one herald tells.
	mostNames = 100
)

// Change is a change of a name in a folder at the service.
type Change struct {
	Name   string
	Folder bool // it is a folder's; known only of one that has come
	Gone   bool
	// Picture: the name is as it was, and its document has a thumbnail now.
	Picture bool
}

// Herald tells the programs on this machine that names in the directory at a path have changed.
// It calls begun with the id of the thread that makes the system calls before the first of them.
type Herald func(ctx context.Context, path string, begun func(thread uint32), changes []Change) error

// announcements tell changes that others made. The zero value tells nothing.
type announcements struct {
	// active is what the herald tells now, nil for nothing.
	active atomic.Pointer[announcement]

	mu sync.Mutex
	// herald is nil before Start and after Stop.
	herald Herald // +checklocks:mu
	// dir is the mount point.
	dir string // +checklocks:mu
	// ctx ends with Stop.
	ctx  context.Context    // +checklocks:mu
	stop context.CancelFunc // +checklocks:mu
	// names are those that changed in each directory, true for those of which only the thumbnail did.
	names map[*tree.Dir]map[string]bool // +checklocks:mu
	// telling says that a goroutine tells them.
	telling bool // +checklocks:mu
}

// announcement is what one herald tells.
type announcement struct {
	d      *tree.Dir
	thread atomic.Uint32
	byName map[string]Change
}

// Start sets the herald of the mount at dir.
func (a *announcements) Start(herald Herald, dir string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.herald, a.dir = herald, dir
	a.ctx, a.stop = context.WithCancel(context.Background())
}

// Stop ends the herald. Nothing is told after it.
func (a *announcements) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stop != nil {
		a.stop()
	}
	a.herald = nil
}

// Announce tells the programs on this machine that names of a directory have changed at the service, or that
// these documents have pictures, thumbnails, now. It does not block and may be called with any lock held.
func (k *Kernel) Announce(d *tree.Dir, names []string, pictures bool) {
	a := &k.Announcements
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.herald == nil {
		return
	}
	if a.names == nil {
		a.names = map[*tree.Dir]map[string]bool{}
	}
	if a.names[d] == nil {
		a.names[d] = map[string]bool{}
	}
	for _, name := range names {
		only, known := a.names[d][name]
		a.names[d][name] = pictures && (only || !known)
	}
	if !a.telling {
		a.telling = true
		k.Service.Work.Go(k.tell)
	}
}

// tell tells what has changed until nothing is left.
func (k *Kernel) tell() {
	a := &k.Announcements
	for {
		a.mu.Lock()
		ctx, herald, dir, all := a.ctx, a.herald, a.dir, a.names
		a.telling = herald != nil && len(all) > 0
		a.names = nil
		telling := a.telling
		a.mu.Unlock()
		if !telling {
			return
		}
		select {
		case <-time.After(gather):
		case <-ctx.Done():
		}
		for d, names := range all {
			changes := changesOf(d, names)
			if ctx.Err() != nil || len(changes) == 0 || !d.IsShown() {
				continue
			}
			if err := a.send(ctx, herald, filepath.Join(dir, tree.FromTop(d.Tree, d.Path())), d, changes); err != nil {
				k.Service.Log.Debugf("tell what has changed in %s: %v", archive.Printable(d.Path()), err)
			}
		}
	}
}

// changesOf returns what became of names in a directory.
func changesOf(d *tree.Dir, names map[string]bool) (changes []Change) {
	for name, picture := range names {
		if len(changes) == mostNames {
			break
		}
		e := d.Get(name)
		if picture && e == nil {
			continue
		}
		changes = append(changes, Change{Name: name, Folder: e != nil && e.Dir != nil, Gone: e == nil, Picture: picture})
	}
	return changes
}

// send has the herald tell changes in one directory.
func (a *announcements) send(ctx context.Context, herald Herald, path string, d *tree.Dir, changes []Change) error {
	told := &announcement{d: d, byName: map[string]Change{}}
	for i, c := range changes {
		changes[i].Name = d.Tree.Windows.Shown(c.Name) // as the kernel has it
		told.byName[changes[i].Name] = c
	}
	a.active.Store(told)
	defer a.active.Store(nil)
	return herald(ctx, path, told.thread.Store, changes)
}

// heralded returns what the herald tells with a request for a name in d. ok is false for the requests of all others.
func (a *announcements) heralded(ctx context.Context, d *tree.Dir, name string) (c Change, ok bool) {
	told := a.active.Load()
	if told == nil || told.d != d {
		return c, false
	}
	if thread := told.thread.Load(); thread == 0 || thread != callerPID(ctx) {
		return c, false
	}
	c, ok = told.byName[name]
	return c, ok
}

// heraldedLookup answers a lookup by the herald.
func (n *dirNode) heraldedLookup(ctx context.Context, c Change, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	out.SetEntryTimeout(0)
	if c.Gone {
		return n.mark(ctx, fuse.S_IFREG, out), 0
	}
	if e := n.d.Get(c.Name); c.Picture && e != nil {
		n.k.fillEntry(n.d, e, out)
		return n.nodeOf(ctx, e), 0
	}
	return nil, syscall.ENOENT
}

// mark returns an inode that stands for a name for the length of a system call.
func (n *dirNode) mark(ctx context.Context, kind uint32, out *fuse.EntryOut) *fusefs.Inode {
	out.SetEntryTimeout(0)
	out.SetAttrTimeout(0)
	out.Mode = kind | 0o600
	n.k.fillOwner(&out.Attr)
	return n.NewInode(ctx, &fusefs.Inode{}, fusefs.StableAttr{Mode: kind})
}

// heraldedNew answers mknod and mkdir by the herald.
func (n *dirNode) heraldedNew(ctx context.Context, c Change, kind uint32, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	if c.Gone || n.d.Get(c.Name) == nil {
		return nil, syscall.ENOENT // it has changed once more
	}
	return n.mark(ctx, kind, out), 0
}

// heraldedRemoval answers unlink and rmdir by the herald.
func (n *dirNode) heraldedRemoval(c Change) syscall.Errno {
	if !c.Gone || n.d.Get(c.Name) != nil {
		return syscall.EEXIST // as above
	}
	return 0
}
