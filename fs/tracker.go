package fs

import (
	"context"
	"sync"
)

// tracker counts what is under way. Unlike a sync.WaitGroup it may be waited for while
// more begins, which a mount that is only out of sight allows.
type tracker struct {
	mu   sync.Mutex
	n    int           // guarded by mu
	idle chan struct{} // closed when n falls to 0, nil while nobody waits; guarded by mu
}

func (t *tracker) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
}

func (t *tracker) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 && t.idle != nil {
		close(t.idle)
		t.idle = nil
	}
}

// wait returns when nothing is under way, or with the context's error when it ends first.
func (t *tracker) wait(ctx context.Context) error {
	t.mu.Lock()
	if t.n == 0 {
		t.mu.Unlock()
		return nil
	}
	if t.idle == nil {
		t.idle = make(chan struct{})
	}
	idle := t.idle
	t.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
