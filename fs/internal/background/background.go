// Package background runs work beside the requests: Work counts what is in flight, so that callers
// can wait for its end, and Queue retries jobs until the service has accepted or refused them.
//
// Both are safe for concurrent use. They know nothing of files and uploads.
package background

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Work counts what is in flight. Unlike with a sync.WaitGroup, more work may begin while a caller
// waits, as in a detached mount. The zero value is ready for use.
type Work struct {
	mu sync.Mutex
	n  int // +checklocks:mu
	// idle is closed when n falls to 0; nil while nobody waits.
	idle chan struct{} // +checklocks:mu
}

// Begin counts a piece of work, until a call of End.
func (w *Work) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
}

// End ends what Begin counted.
func (w *Work) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// Go runs work in a goroutine of its own.
func (w *Work) Go(do func()) {
	w.Begin()
	go func() {
		defer w.End()
		do()
	}()
}

// Wait returns when nothing is in flight, or with the context's error if that ends first.
func (w *Work) Wait(ctx context.Context) error {
	w.mu.Lock()
	if w.n == 0 {
		w.mu.Unlock()
		return nil
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

const (
	// manyDocuments is the number of documents, in one answer or expanded, that makes it worthwhile to return memory.
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
