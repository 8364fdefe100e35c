// Package background does what goes on behind the requests: Work counts what is under way, so
// that its end can be waited for, and Queue tries jobs again and again until the service has
// taken them or refused them.
//
// Both may be used by any number of goroutines. They know nothing of files and uploads.
package background

import (
	"context"
	"sync"
)

// Work counts what is under way. Unlike a sync.WaitGroup it may be waited for while
// more begins, which a mount that is only out of sight allows.
// The zero value is ready for use.
type Work struct {
	mu sync.Mutex
	n  int // +checklocks:mu
	// idle is closed when n falls to 0, nil while nobody waits.
	idle chan struct{} // +checklocks:mu
}

// Begin says that something begins, which ends with a call of End.
func (w *Work) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
}

// End says that something has ended.
func (w *Work) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// Go does something in a goroutine of its own.
func (w *Work) Go(do func()) {
	w.Begin()
	go func() {
		defer w.End()
		do()
	}()
}

// Wait returns when nothing is under way, or with the context's error when it ends first.
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
