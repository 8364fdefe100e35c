package fs

import (
	"runtime/debug"
	"time"
)

// Decoding a large answer takes several times the memory of what is kept of it, and so does
// taking it in, and a mount may have nothing to do for hours after: it is given back at once,
// and again when the walk that asked is over.

const (
	// manyDocuments is how many documents in one answer are worth it.
	manyDocuments = 5000
	// restAfter is how long after the last such answer a walk is taken to be over.
	restAfter = 3 * time.Second
)

// rests gives memory back a while after it was called last.
func (a *ahead) rests() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rest == nil {
		a.rest = time.AfterFunc(restAfter, debug.FreeOSMemory)
	} else {
		a.rest.Reset(restAfter)
	}
}
