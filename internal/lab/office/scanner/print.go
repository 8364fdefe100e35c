//go:build linux

package scanner

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Told is how many scans a device was told are written.
func (r *Report) Told() (n int) {
	for _, s := range r.Scans {
		if s.Told {
			n++
		}
	}
	return n
}

// Servers are the jobs of each server.
func (r *Report) Servers() []Count {
	return r.jobs(func(j *Job) string { return string(serverOf(j.Device)) })
}

// Kinds are the jobs of each kind.
func (r *Report) Kinds() []Count {
	return r.jobs(func(j *Job) string { return string(j.Kind) })
}

// Troubles are those that really struck.
func (r *Report) Troubles() []Count {
	all := counts(r.Struck)
	for i := range all {
		if how, is := strings.CutPrefix(all[i].Name, "net "); is {
			all[i].Name = "requests that failed, " + how
		}
	}
	return all
}

func (r *Report) jobs(by func(*Job) string) []Count {
	n := map[string]int{}
	for _, j := range r.Plan.Jobs {
		n[by(j)]++
	}
	return counts(n)
}

// counts are counts by their names.
func counts(m map[string]int) (all []Count) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, Count{name, m[name]})
	}
	return all
}

// Print prints the figures.
func (r *Report) Print(out io.Writer) {
	v := r.Verdict
	_, _ = fmt.Fprintf(out, `seed %d: %d jobs of %d devices with %d scans; devices were told that %d are written
by server:  %s
by kind:    %s
troubles:   connections cut: %d; %s
documents:  %d; scans that broke off, kept as failed uploads: %d
told too early by vsftpd, kept as a failed upload: %d
%s
`, r.Plan.Seed, len(r.Plan.Jobs), r.Plan.Devices, len(r.Scans), r.Told(), list(r.Servers()), list(r.Kinds()), r.Cuts, list(r.Troubles()), v.Documents, v.Kept, v.Early,
		list(v.Promises())) // nowhere to say that it failed
}

// list is counts in a line.
func list(all []Count) string {
	var words []string
	for _, c := range all {
		words = append(words, fmt.Sprintf("%s: %d", c.Name, c.N))
	}
	return strings.Join(words, "; ")
}
