//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/faultlab/audit"
	"github.com/archivefs/archivefs/internal/lab/faultlab/lab"
	"github.com/archivefs/archivefs/internal/spool"
)

// tally adds up the results of runs.
type tally struct {
	runs, unjudged int
	struck         map[string]int
	reached        map[string]int
	killed         map[spool.Point]int
	violations     map[audit.Kind]int
}

func newTally() *tally {
	return &tally{
		struck: map[string]int{}, reached: map[string]int{}, killed: map[spool.Point]int{}, violations: map[audit.Kind]int{},
	}
}

func (t *tally) add(r *lab.Result) {
	t.runs++
	for name, n := range r.Struck {
		t.struck[name] += n
	}
	for name, n := range r.Reached {
		t.reached[name] += n
	}
	for point, n := range r.Killed {
		t.killed[point] += n
	}
	for _, v := range r.Violations {
		t.violations[v.Kind]++
	}
	if r.Err != nil {
		t.unjudged++
	}
}

// clean reports whether every run was judged and no promise broken.
func (t *tally) clean() bool { return t.unjudged == 0 && len(t.violations) == 0 }

// print prints what was injected and what came of it; the last line holds the violations.
func (t *tally) print(out io.Writer, head string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nfaults injected\n", head)
	for _, name := range slices.Sorted(maps.Keys(t.struck)) {
		fmt.Fprintf(&b, "  %5d  %s\n", t.struck[name], name)
	}
	b.WriteString("also reached\n")
	for _, name := range slices.Sorted(maps.Keys(t.reached)) {
		fmt.Fprintf(&b, "  %5d  %s\n", t.reached[name], name)
	}
	b.WriteString("kills at the points of the spool\n")
	for _, p := range spool.Points() {
		fmt.Fprintf(&b, "  %5d  %s\n", t.killed[p], p)
	}
	if t.unjudged > 0 {
		fmt.Fprintf(&b, "%d runs could not be judged\n", t.unjudged)
	}
	for i, kind := range audit.Kinds() {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", kind, t.violations[kind])
	}
	fmt.Fprintln(out, b.String()) //nolint:errcheck // nowhere to say it
}
