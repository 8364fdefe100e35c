package background

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// manyDocuments is how many documents in one answer, or expanded, are worth it to give
	// memory back.
	manyDocuments = 5000
	// restAfter is how long after the last of them a walk is taken to be over.
	restAfter = 3 * time.Second
)

// Memory gives memory back to the system. Decoding a large answer takes several times the memory
// of what is kept of it, and so does taking it in, and so does expanding what was compacted,
// and a mount may have nothing to do for hours after: so it is given back at once after an
// answer, and when the walk is over.
type Memory struct {
	expanded atomic.Int64 // documents since the last rest was asked for

	mu   sync.Mutex
	rest *time.Timer // +checklocks:mu
}

// Decoded counts the documents of an answer.
func (m *Memory) Decoded(documents int) {
	if documents >= manyDocuments {
		go debug.FreeOSMemory()
		m.rests()
	}
}

// Expanded counts documents that were expanded from a compacted form.
func (m *Memory) Expanded(documents int) {
	if m.expanded.Add(int64(documents)) >= manyDocuments {
		m.expanded.Store(0)
		m.rests()
	}
}

// rests gives memory back a while after it was called last.
func (m *Memory) rests() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rest == nil {
		m.rest = time.AfterFunc(restAfter, debug.FreeOSMemory)
	} else {
		m.rest.Reset(restAfter)
	}
}
