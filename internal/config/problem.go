package config

import (
	"cmp"
	"fmt"
	"slices"
)

// Problem is what is wrong in a configuration file, and where.
type Problem struct {
	File string
	Line int // 0 for the file as a whole
	Text string
}

// String is the problem as compilers write theirs: FILE:LINE: TEXT.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Problems are all that is wrong in the configuration, or nothing.
type Problems []Problem

// Error returns nil when nothing is wrong, else a *UsageError with the first problem and how
// to see the others.
func (all Problems) Error() error {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return Usagef("%s", all[0])
	}
	return &UsageError{Reason: all[0].String() + " (and more: archivefs config check shows all)", More: true}
}

// Sort puts the problems of each file into the order of its lines, and drops repeated ones.
func (all Problems) Sort() Problems {
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	seen := map[Problem]bool{}
	return slices.DeleteFunc(all, func(p Problem) bool {
		again := seen[p]
		seen[p] = true
		return again
	})
}
