package apiclient

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// statsTable counts requests by operation. Its zero value is empty.
type statsTable struct {
	mu   sync.Mutex
	rows map[Operation]*archive.OperationStats // guarded by mu
}

// add calls change with the counters of op.
func (t *statsTable) add(op Operation, change func(*archive.OperationStats)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	row := t.rows[op]
	if row == nil {
		if t.rows == nil {
			t.rows = make(map[Operation]*archive.OperationStats)
		}
		row = &archive.OperationStats{Operation: string(op)}
		t.rows[op] = row
	}
	change(row)
}

// request counts one request and how long it took to the head of its answer.
func (t *statsTable) request(op Operation, took time.Duration) {
	t.add(op, func(s *archive.OperationStats) { s.Requests++; s.Total += took })
}

func (t *statsTable) failure(op Operation) {
	t.add(op, func(s *archive.OperationStats) { s.Failures++ })
}

func (t *statsTable) retry(op Operation) {
	t.add(op, func(s *archive.OperationStats) { s.Retries++ })
}

// Stats returns the counters of every operation asked so far, by name. Requests counts
// each attempt, Failures those that ended in an error, Total the time to the heads of
// the answers.
func (c *Client) Stats() []archive.OperationStats {
	c.stats.mu.Lock()
	defer c.stats.mu.Unlock()
	rows := make([]archive.OperationStats, 0, len(c.stats.rows))
	for _, row := range c.stats.rows {
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(a, b archive.OperationStats) int { return strings.Compare(a.Operation, b.Operation) })
	return rows
}
