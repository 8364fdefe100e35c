//go:build linux

package scanner

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Print prints the figures.
func (r *Report) Print(out io.Writer) {
	kinds, servers := map[string]int{}, map[string]int{}
	for _, j := range r.Plan.Jobs {
		kinds[string(j.Kind)]++
		servers[string(serverOf(j.Device))]++
	}
	told := 0
	for _, s := range r.Scans {
		if s.Told {
			told++
		}
	}
	v := r.Verdict
	_, _ = fmt.Fprintf(out, `seed %d: %d jobs with %d scans; devices were told that %d are written
by server:  %s
by kind:    %s
troubles:   connections cut: %d; %s
documents:  %d; scans that broke off, kept as failed uploads: %d
told too early by vsftpd, kept as a failed upload: %d
lost %d, doubled %d, cut %d, wrong order %d, wrong name %d, junk at the service %d, vanished %d, given up %d
`, r.Plan.Seed, len(r.Plan.Jobs), len(r.Scans), told, counts(servers), counts(kinds), r.Cuts, counts(r.Struck), v.Documents, v.Kept, v.Early,
		v.Lost, v.Doubled, v.Cut, v.Disordered, v.Misnamed, v.Junk, v.Vanished, v.GivenUp) // nowhere to say that it failed
}

// counts are counts in a line, by their names.
func counts(m map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, fmt.Sprintf("%s: %d", name, m[name]))
	}
	return strings.Join(all, "; ")
}
