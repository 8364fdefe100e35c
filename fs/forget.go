package fs

import (
	"sync"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"

	"github.com/archivefs/archivefs/fs/internal/inode"
)

// The kernel forgets inodes when it needs their memory. What the mount keeps of a document for
// the sake of its inode goes then as well, and a folder of which no document is known to the
// kernel any more is folded.

var _ = fusefs.NodeOnForgetter((*fileNode)(nil))

// OnForget drops the model of an archived document that has nothing to itself.
func (n *fileNode) OnForget() {
	if d := n.f.fs.kernel.forget(n.f); d != nil {
		d.fs.forgotten.add(d)
	}
}

// forget takes the file out of its entry and returns the directory, nil when it stays. Where the
// kernel asks for the document at this very moment it has an inode of this file, and gets one of
// another file when it asks again, as when the file was replaced: what is archived does not change.
func (k *kernel) forget(f *file) *dir {
	d, _ := f.place()
	if d == nil || !d.kind.archives() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dir != d || f.entry.file.Load() != f || !f.idleLocked() || !f.numberedByID() {
		return nil
	}
	f.entry.file.Store(nil)
	k.fs.memory.unfolds(1) // which gives memory back when they are many
	return d
}

// numberedByID reports whether the next file of the document has the same inode number. What was
// put in here has another one, which programs compare before and after they open it.
func (f *leaf) numberedByID() bool {
	ino, ok := inode.OfDocument(f.doc.ID)
	return ok && ino == f.ino
}

// idleLocked reports whether the file is a document and nothing else: nobody has it open, no
// bytes of it wait. The caller holds mu.
func (f *file) idleLocked() bool {
	return f.doc != nil && f.up == nil && f.phase == clean && f.writers == 0 && f.handles == 0 && f.writing == 0 &&
		f.reading == nil && f.superseded == nil
}

// forgotten are directories of which the kernel has forgotten documents.
type forgotten struct {
	mu   sync.Mutex
	dirs map[*dir]bool // guarded by mu
	rest *time.Timer   // folds them; guarded by mu
}

// forgetRest is how long after the last document the directories are folded: the kernel forgets
// many at a time.
const forgetRest = time.Second

func (g *forgotten) add(d *dir) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dirs == nil {
		g.dirs = map[*dir]bool{}
	}
	g.dirs[d] = true
	if g.rest == nil {
		g.rest = time.AfterFunc(forgetRest, g.fold)
	} else {
		g.rest.Reset(forgetRest)
	}
}

// fold folds the directories of which no document is known to the kernel.
func (g *forgotten) fold() {
	g.mu.Lock()
	dirs := g.dirs
	g.dirs = nil
	g.mu.Unlock()
	for d := range dirs {
		d.fold()
	}
}
