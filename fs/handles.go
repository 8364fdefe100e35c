package fs

import (
	"context"
	"sync"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
)

// handles are the open files that the kernel knows. It releases each after its last close,
// but not those whose RELEASE is on its way when it unmounts: these are released here.
type handles struct {
	mu   sync.Mutex
	open map[fusefs.FileReleaser]struct{} // guarded by mu
}

func (hs *handles) add(h fusefs.FileReleaser) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.open == nil {
		hs.open = map[fusefs.FileReleaser]struct{}{}
	}
	hs.open[h] = struct{}{}
}

func (hs *handles) remove(h fusefs.FileReleaser) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	delete(hs.open, h)
}

// releaseAll releases what the kernel has not, after the mount has ended: then nobody can use a
// file any more. What was not written to its end fails.
func (hs *handles) releaseAll(ctx context.Context) {
	hs.mu.Lock()
	left := make([]fusefs.FileReleaser, 0, len(hs.open))
	for h := range hs.open {
		left = append(left, h)
	}
	hs.mu.Unlock()
	for _, h := range left {
		if w, ok := h.(*writeHandle); ok {
			w.cutOff()
		}
	}
	for _, h := range left {
		_ = h.Release(ctx) // which always succeeds
	}
}
