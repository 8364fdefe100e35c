package node

import (
	"sync"
	"time"

	"github.com/archivefs/archivefs/fs/internal/tree"
)

// forgotten collects directories with documents that the kernel forgot, and compacts them.
type forgotten struct {
	mu   sync.Mutex
	dirs map[*tree.Dir]bool // +checklocks:mu
	// rest fires forgetRest after the last add.
	rest *time.Timer // +checklocks:mu
}

// forgetRest is the delay between the last forgotten document and compaction: the kernel forgets many
// inodes in a row.
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
