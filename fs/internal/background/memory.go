package background

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// manyDocuments is the number of documents, in one answer or expanded, that makes it worthwhile
	// to return memory.
	manyDocuments = 5000
	// restAfter is how long after the last of them a walk counts as over.
	restAfter = 3 * time.Second
)

// Memory returns memory to the system. Decoding and storing a large answer, or expanding compacted
// folders, takes several times the memory that remains in use, and the mount may then be idle for
// hours. So memory is returned right after an answer, and when a walk is over.
type Memory struct {
	expanded atomic.Int64 // documents since rest was last started

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

// rests returns memory a while after its last call.
func (m *Memory) rests() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rest == nil {
		m.rest = time.AfterFunc(restAfter, debug.FreeOSMemory)
	} else {
		m.rest.Reset(restAfter)
	}
}
