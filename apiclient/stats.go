package apiclient

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/archivefs/archivefs/archive"
)

// statsTable counts requests by operation. Its zero value is empty.
type statsTable struct {
	mu   sync.Mutex
	rows map[Operation]*counters // +checklocks:mu
}

// counters count the requests of one operation.
type counters struct {
	sent, received atomic.Int64           // bytes of bodies
	rest           archive.OperationStats // guarded by statsTable.mu
}

// of returns the counters of op.
func (t *statsTable) of(op Operation) *counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ofLocked(op)
}

// +checklocks:t.mu
func (t *statsTable) ofLocked(op Operation) *counters {
	row := t.rows[op]
	if row == nil {
		if t.rows == nil {
			t.rows = make(map[Operation]*counters)
		}
		row = &counters{rest: archive.OperationStats{Operation: op.name}}
		t.rows[op] = row
	}
	return row
}

// add calls change with the counters of op.
func (t *statsTable) add(op Operation, change func(*archive.OperationStats)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.ofLocked(op).rest)
}

// all returns the counters of every operation, by name.
func (t *statsTable) all() []archive.OperationStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := make([]archive.OperationStats, 0, len(t.rows))
	for _, row := range t.rows {
		stats := row.rest
		stats.Sent, stats.Received = row.sent.Load(), row.received.Load()
		rows = append(rows, stats)
	}
	slices.SortFunc(rows, func(a, b archive.OperationStats) int { return strings.Compare(a.Operation, b.Operation) })
	return rows
}
