// Command house counts what makes this repository hard to change: methods of a type, files of a package, declarations
// that can only be understood together, locks that are taken of other packages, and the lines that ship: what a program below cmd imports. It also checks the import table of .golangci.yml, with
// the library that golangci-lint has for it. It prints a table, and ends with 1 when a figure is over its bound or an
// import is forbidden.
//
// Tests and generated files do not count. The figures are those of Linux.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// kind is what a figure counts.
type kind string

const (
	methods kind = "methods of a type"
	files   kind = "files of a package"
	knot    kind = "lines of the largest knot of a package" // see knotOf
	offered kind = "methods of a type, with those of what it embeds"
	locks   kind = "locks that a package takes of another's types"
	product kind = "lines that ship"
)

// shown is how many figures of a kind are printed, beside those over the bound.
const shown = 3

// figure is something counted.
type figure struct {
	kind kind
	of   string // the package's path in the module, with the type's name after a dot; empty for the whole module
	n    int
}

// limit is the largest figure of a kind that is accepted.
type limit struct {
	kind  kind
	bound int
	// more is accepted of what was over the bound when it was set.
	more map[string]int
}

// limits only fall: whoever mends a figure lowers its limit, and what is added is paid by what goes.
func limits() []limit {
	return []limit{
		{kind: methods, bound: 40},
		{kind: files, bound: 40},
		{kind: knot, bound: 1_920},
		{kind: offered, bound: 60, more: map[string]int{
			"fs/internal/staging.File": 81,
			"fs/internal/node.Kernel":  68,
			"fs/internal/staging.Area": 63,
		}},
		{kind: locks, bound: 0, more: map[string]int{
			"fs/internal/staging: fs/internal/tree.Mu":       42,
			"fs/internal/content: fs/internal/tree.Mu":       20,
			"fs/internal/change: fs/internal/tree.Mu":        16,
			"fs/internal/change: fs/internal/staging.Commit": 11,
			"fs/internal/node: fs/internal/tree.Mu":          9,
		}},
		{kind: product, bound: 75_979},
	}
}

func main() {
	if err := run(".", os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

// run checks the module in dir, and writes the table to w.
func run(dir string, w io.Writer) error {
	packages, err := load(dir)
	if err != nil {
		return err
	}
	figures := count(packages)
	var errs []error
	for _, l := range limits() {
		l.print(w, figures)
		errs = append(errs, l.check(figures))
	}
	return errors.Join(append(errs, checkImports(dir, packages))...)
}

// sorted returns the figures of l's kind, the largest first.
func (l limit) sorted(figures []figure) []figure {
	var ours []figure
	for _, f := range figures {
		if f.kind == l.kind {
			ours = append(ours, f)
		}
	}
	slices.SortFunc(ours, func(a, b figure) int { return cmp.Or(b.n-a.n, cmp.Compare(a.of, b.of)) })
	return ours
}

func (l limit) print(w io.Writer, figures []figure) {
	_, _ = fmt.Fprintf(w, "%s, at most %d\n", l.kind, l.bound)
	for i, f := range l.sorted(figures) {
		if i >= shown && f.n <= l.bound {
			break
		}
		_, _ = fmt.Fprintf(w, "%7d %s\n", f.n, f.of)
	}
}

// check returns an error for each figure that is over its bound.
func (l limit) check(figures []figure) error {
	var errs []error
	for _, f := range l.sorted(figures) {
		if bound := max(l.bound, l.more[f.of]); f.n > bound {
			errs = append(errs, fmt.Errorf("%s %s: %d, at most %d", l.kind, f.of, f.n, bound))
		}
	}
	return errors.Join(errs...)
}
