//go:build linux

package lab

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/archivefs/archivefs/internal/lab/faultlab/audit"
	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/spool"
)

// Bench is what all runs share.
type Bench struct {
	// Program is the archivefs to test, built with the tag faultlab.
	Program string
	// Helper runs a writer or an inspector: it is started with the words of Helper and then
	// those that this package's Help understands.
	Helper []string
	// Dir is where runs make their directories.
	Dir string
	// Keep leaves the directory of a run that shows a violation, with the program's log.
	Keep bool
}

// Result is what came of a run.
type Result struct {
	History    *history.History
	Violations []audit.Violation
	// Struck counts the faults that really struck, by name, ends of sessions included.
	Struck map[string]int
	// Reached counts what histories are to reach beside faults, by name.
	Reached map[string]int
	// Killed counts the kills at points of the spool.
	Killed map[spool.Point]int
	// Err says that the run could not be judged: the program did not start when nothing was
	// broken any more, or the lab itself failed.
	Err error
}

// runLimit bounds a run: one that takes longer hangs.
const runLimit = 3 * time.Minute

// Run carries out a history and judges it.
func (b *Bench) Run(ctx context.Context, h *history.History) *Result {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	result := &Result{History: h, Struck: map[string]int{}, Reached: map[string]int{}, Killed: map[spool.Point]int{}}
	dir, err := os.MkdirTemp(b.Dir, fmt.Sprintf("run-%d-*", h.Run))
	if err != nil {
		result.Err = err
		return result
	}
	r := &run{bench: b, h: h, dir: dir, result: result}
	result.Err = r.all(ctx)
	if cause := context.Cause(ctx); cause != nil && result.Err != nil {
		result.Err = fmt.Errorf("%w (%w)", result.Err, cause)
	}
	if b.Keep && (result.Err != nil || len(result.Violations) > 0) {
		return result
	}
	if err := os.RemoveAll(dir); err != nil && result.Err == nil {
		result.Err = err
	}
	return result
}
