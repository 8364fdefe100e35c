package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// scaleOf is the name of a measure of an archive of n documents, as the suite writes it.
func scaleOf(n int, what string) string { return fmt.Sprintf("scale_%d_%s", n, what) }

// scales are the sizes of archives that were measured, in documents.
func scales(s result.Set) []int {
	var sizes []int
	for workload := range s[own] {
		number, ok := strings.CutPrefix(workload, "scale_")
		number, what, _ := strings.Cut(number, "_")
		if n, err := strconv.Atoi(number); ok && err == nil && what == "find" {
			sizes = append(sizes, n)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// growth is how many bytes of memory the mount takes for each document more, from a to b.
func growth(s result.Set, a, b int) (bytes float64, ok bool) {
	less, ok1 := s.Best(own, scaleOf(a, "rss_MB"))
	more, ok2 := s.Best(own, scaleOf(b, "rss_MB"))
	return (more - less) * (1 << 20) / float64(b-a), ok1 && ok2 && a != b
}

// perDocument is the growth up to the largest archive that was measured.
func perDocument(s result.Set) (bytes float64, ok bool) {
	sizes := scales(s)
	if len(sizes) < 2 {
		return 0, false
	}
	return growth(s, sizes[len(sizes)-2], sizes[len(sizes)-1])
}

// scaleTable shows how everything grows.
func scaleTable(s result.Set) string {
	t := newTable("documents", "mount to first `ls`", "first `ls` of a folder", "`find`, cold", "requests", "`find`, warm",
		"processor time", "memory after `find`", "bytes for each further document")
	sizes := scales(s)
	for i, n := range sizes {
		row := []string{thousands(n)}
		for _, what := range []string{"mount", "ls", "find"} {
			row = append(row, measured(s, own, scaleOf(n, what), seconds))
		}
		row = append(row, requests(s, own, scaleOf(n, "find")))
		for _, what := range []string{"find_warm", "cpu_s"} {
			row = append(row, measured(s, own, scaleOf(n, what), seconds))
		}
		row = append(row, measured(s, own, scaleOf(n, "rss_MB"), mebibyte))
		bytes, ok := 0.0, false
		if i > 0 {
			bytes, ok = growth(s, sizes[i-1], n)
		}
		t.add(append(row, either(ok, fmt.Sprintf("%.0f", bytes)))...)
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
