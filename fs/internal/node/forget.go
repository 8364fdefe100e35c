package node

import (
	"sync"
	"time"

	"github.com/archivefs/archivefs/fs/internal/tree"
)

// forgotten are directories of which the kernel has forgotten documents.
type forgotten struct {
	mu   sync.Mutex
	dirs map[*tree.Dir]bool // +checklocks:mu
	// rest compacts them.
	rest *time.Timer // +checklocks:mu
}

// forgetRest is how long after the last document the directories are compacted: the kernel forgets
// many at a time.
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

// compact compacts the directories of which no document is known to the kernel.
func (g *forgotten) compact() {
	g.mu.Lock()
	dirs := g.dirs
	g.dirs = nil
	g.mu.Unlock()
	for d := range dirs {
		d.Compact()
	}
}
