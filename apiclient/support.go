package apiclient

import (
	"sync"
	"time"
)

// Support says whether the deployment has an operation.
type Support uint8

// What is known of an operation.
const (
	SupportUnknown Support = iota
	SupportYes
	SupportNo
)

// String names the state.
func (s Support) String() string {
	switch s {
	case SupportYes:
		return "yes"
	case SupportNo:
		return "no"
	}
	return "unknown"
}

// missingFor is how long an operation counts as missing before it is asked for again:
// a service may be updated under a long mount.
const missingFor = 10 * time.Minute

// supportTable remembers which operations the deployment has. Its zero value knows
// nothing.
type supportTable struct {
	mu      sync.Mutex
	present map[Operation]bool      // guarded by mu
	missing map[Operation]time.Time // since when; guarded by mu
}

// learn notes what an answer told about op.
func (t *supportTable) learn(op Operation, s Support) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.present == nil {
		t.present, t.missing = make(map[Operation]bool), make(map[Operation]time.Time)
	}
	delete(t.present, op)
	delete(t.missing, op)
	switch s {
	case SupportYes:
		t.present[op] = true
	case SupportNo:
		t.missing[op] = time.Now()
	}
}

// of returns what is known of op.
func (t *supportTable) of(op Operation) Support {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.present[op] {
		return SupportYes
	}
	if since, ok := t.missing[op]; ok && time.Since(since) < missingFor {
		return SupportNo
	}
	return SupportUnknown
}

// Supports returns whether the deployment has op, as far as its answers have told. It
// asks nothing.
func (c *Client) Supports(op Operation) Support { return c.support.of(op) }

// LacksReplace reports whether Replace would be answered without a request, because the
// deployment turned out not to have the operation.
func (c *Client) LacksReplace() bool { return c.Supports(OpReplace) == SupportNo }
