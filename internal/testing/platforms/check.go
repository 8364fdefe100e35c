package main

import (
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

// check returns what is wrong with the packages of the module in dir on a platform, a line each.
func check(dir, platform string) ([]string, error) {
	roots, err := list(dir, platform)
	if err != nil {
		return nil, err
	}
	near := imported(roots)
	fset := token.NewFileSet()
	var found []string
	packages.Visit(roots, nil, func(p *packages.Package) { // what a package imports comes before it
		typeCheck(fset, p, near[p])
		for _, e := range p.Errors {
			found = append(found, line(dir, e.Pos, e.Msg))
		}
	})
	graph, err := checker.Analyze(vet.Suite, roots, nil)
	if err != nil {
		return nil, err
	}
	for _, a := range graph.Roots {
		if a.Err != nil && len(found) == 0 {
			return nil, fmt.Errorf("%s: %w", a, a.Err)
		}
		for _, d := range a.Diagnostics {
			found = append(found, line(dir, fset.Position(d.Pos).String(), d.Message))
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil // a package and the one with its tests have files in common
}

// list returns the packages of the module in dir and, below them, all that they import, without their types. A
// package with tests comes twice, without and with these.
func list(dir, platform string) ([]*packages.Package, error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, errors.New("a platform is OS/ARCH, such as darwin/arm64")
	}
	all, err := packages.Load(&packages.Config{
		Dir: dir, Tests: true,
		Env:  append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule | packages.NeedTypesSizes,
	}, "./...")
	// The programs that go test generates are not vetted.
	return slices.DeleteFunc(all, func(p *packages.Package) bool { return strings.HasSuffix(p.PkgPath, ".test") }), err
}

// imported returns the packages of the module, and those that one of them imports.
func imported(roots []*packages.Package) map[*packages.Package]bool {
	near := map[*packages.Package]bool{}
	packages.Visit(roots, nil, func(p *packages.Package) {
		if p.Module == nil || !p.Module.Main {
			return
		}
		near[p] = true
		for _, i := range p.Imports {
			near[i] = true
		}
	})
	return near
}

// line is a mistake at a place, which is named as seen from dir.
func line(dir, place, mistake string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		place = strings.TrimPrefix(place, abs+string(filepath.Separator))
	}
	return place + ": " + mistake
}
