package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// growthOf is the name of a measure of an archive of n documents, as the suite writes it.
func growthOf(n int, what string) string { return fmt.Sprintf("growth_%d_%s", n, what) }

// growthSizes are the sizes of archives that a system was measured with, in documents.
func growthSizes(s result.Set, system string) []int {
	var sizes []int
	for workload := range s[system] {
		number, ok := strings.CutPrefix(workload, "growth_")
		number, what, _ := strings.Cut(number, "_")
		if n, err := strconv.Atoi(number); ok && err == nil && what == "find" {
			sizes = append(sizes, n)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// further is how many bytes of memory the mount takes for each document more, from a to b.
func further(s result.Set, system string, a, b int) (bytes float64, ok bool) {
	less, ok1 := s.Best(system, growthOf(a, "rss_MB"))
	more, ok2 := s.Best(system, growthOf(b, "rss_MB"))
	return (more - less) * (1 << 20) / float64(b-a), ok1 && ok2
}

// perDocument is the steepest growth of memory between two sizes that were measured.
func perDocument(s result.Set) (bytes float64, ok bool) {
	sizes := growthSizes(s, own)
	for i := 1; i < len(sizes); i++ {
		if step, measured := further(s, own, sizes[i-1], sizes[i]); measured {
			bytes, ok = max(bytes, step), true
		}
	}
	return bytes, ok
}

// perMillion is how many seconds a find over n documents takes for each million of them.
func perMillion(s result.Set, system string, n int, what string) (seconds float64, ok bool) {
	v, ok := s.Best(system, growthOf(n, what))
	return v * 1e6 / float64(n), ok
}

// growthTable shows how everything grows.
func growthTable(s result.Set) string {
	t := newTable("documents", "service", "mount to first `ls`", "first `ls` of a folder", "`find`, cold", "for each million", "requests", "`find`, warm",
		"processor time", "memory after `find`", "until then at most", "bytes for each further document")
	for _, n := range growthSizes(s, own) {
		for _, by := range []struct{ system, title string }{{own, "archivefs"}, {foreign, "bare"}} {
			cell := func(what string, u unit) string { return measured(s, by.system, growthOf(n, what), u) }
			million, ok := perMillion(s, by.system, n, "find")
			t.add(thousands(n), by.title, cell("mount", seconds), cell("ls", seconds), cell("find", seconds), either(ok, seconds.text(million)),
				requests(s, by.system, growthOf(n, "find")), cell("find_warm", seconds), cell("cpu_s", seconds), cell("rss_MB", mebibyte), cell("peak_MB", mebibyte),
				furtherText(s, by.system, n))
		}
	}
	return t.String()
}

// furtherText is what each document takes that an archive of n has more than the next smaller one.
func furtherText(s result.Set, system string, n int) string {
	sizes := growthSizes(s, system)
	i := slices.Index(sizes, n)
	if i < 1 {
		return none
	}
	bytes, ok := further(s, system, sizes[i-1], n)
	return either(ok, fmt.Sprintf("%.0f", bytes))
}

// growthTarget is what must be reached with the largest archive.
type growthTarget struct {
	title string
	bound float64
	text  func(float64) string
	value func(system string) (float64, bool)
}

// growthTargets are the bounds of the largest archive that was measured, of ten million documents.
func growthTargets(s result.Set) []growthTarget {
	sizes := growthSizes(s, own)
	if len(sizes) < 2 {
		return nil
	}
	n, before := sizes[len(sizes)-1], sizes[len(sizes)-2]
	best := func(what string) func(string) (float64, bool) {
		return func(system string) (float64, bool) { return s.Best(system, growthOf(n, what)) }
	}
	return []growthTarget{
		{
			"`find`, cold, for each of " + thousands(n) + " documents, compared with " + thousands(before), 1.2, func(v float64) string { return fmt.Sprintf("%.2f times", v) },
			func(system string) (float64, bool) {
				more, ok1 := perMillion(s, system, n, "find")
				less, ok2 := perMillion(s, system, before, "find")
				return more / less, ok1 && ok2
			},
		},
		{"memory of the mount after it", 600, mebibyte.text, best("rss_MB")},
		{"memory of the mount until then, at most", 600, mebibyte.text, best("peak_MB")},
		{"first `ls` of a folder", .02, seconds.text, best("ls")},
	}
}

// reached tells whether a system keeps the bound; measured is false where there is no measure.
func (t growthTarget) reached(system string) (reached, measured bool) {
	v, ok := t.value(system)
	return v <= t.bound, ok
}

// growthTargetTable compares with the bounds.
func growthTargetTable(s result.Set) string {
	t := newTable("with the most documents", "archivefs", "reached", "bare service", "reached", "target")
	for _, row := range growthTargets(s) {
		cells := []string{row.title}
		for _, system := range []string{own, foreign} {
			v, ok := row.value(system)
			cells = append(cells, either(ok, row.text(v)), verdict(row.reached(system)))
		}
		t.add(append(cells, "at most "+row.text(row.bound))...)
	}
	return t.String()
}

// thousands writes a number with a comma for every three digits.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
