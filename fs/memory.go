package fs

import (
	"runtime/debug"
	"time"
)

// Decoding a large answer takes several times the memory of what is kept of it, and so does
// taking it in, and so does unfolding what was read before, and a mount may have nothing to do
// for hours after: it is given back at once after an answer, and when the walk is over.

const (
	// manyDocuments is how many documents in one answer, or unfolded, are worth it.
	manyDocuments = 5000
	// restAfter is how long after the last of them a walk is taken to be over.
	restAfter = 3 * time.Second
)

// unfolds counts documents that were unfolded.
func (a *ahead) unfolds(documents int) {
	if a.unfolded.Add(int64(documents)) >= manyDocuments {
		a.unfolded.Store(0)
		a.rests()
	}
}

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
