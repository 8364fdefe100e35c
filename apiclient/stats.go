package apiclient

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/pace"
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
	inFlight       map[*pace.Watch]bool   // of the requests in flight; guarded by statsTable.mu
}

// begin adds a request in flight to the counters of op, and returns these.
func (t *statsTable) begin(op Operation, guard *pace.Watch) *counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	row := t.ofLocked(op)
	row.inFlight[guard] = true
	return row
}

// end removes a request.
func (t *statsTable) end(row *counters, guard *pace.Watch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(row.inFlight, guard)
}

// +checklocks:t.mu
func (t *statsTable) ofLocked(op Operation) *counters {
	row := t.rows[op]
	if row == nil {
		if t.rows == nil {
			t.rows = make(map[Operation]*counters)
		}
		row = &counters{rest: archive.OperationStats{Operation: op.name}, inFlight: map[*pace.Watch]bool{}}
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
		for guard := range row.inFlight {
			stats.Silent = max(stats.Silent, guard.Silent())
		}
		rows = append(rows, stats)
	}
	slices.SortFunc(rows, func(a, b archive.OperationStats) int { return strings.Compare(a.Operation, b.Operation) })
	return rows
}
