package main

import (
	"cmp"
	"errors"
	"go/ast"
	"go/types"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// load reads the packages of the module in dir, without tests.
func load(dir string) ([]*packages.Package, error) {
	loaded, err := packages.Load(&packages.Config{
		Dir: dir, Env: append(os.Environ(), "GOOS=linux"),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedModule | packages.NeedExportFile |
			packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
	}, "./...")
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, p := range loaded {
		for _, e := range p.Errors {
			errs = append(errs, e)
		}
		// What was generated is not for people.
		p.Syntax = slices.DeleteFunc(p.Syntax, ast.IsGenerated)
	}
	return loaded, errors.Join(errs...)
}

// count returns all figures of the packages.
func count(ps []*packages.Package) []figure {
	var all []figure
	shipped, ships := shippedOf(ps), 0
	for _, p := range ps {
		if len(p.Syntax) == 0 {
			continue
		}
		path := strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, p.Module.Path), "/")
		units := unitsOf(p)
		for name, u := range units {
			if u.methods > 0 {
				all = append(all, figure{methods, path + "." + name, u.methods})
			}
		}
		all = append(all, figure{files, path, len(p.Syntax)}, figure{knot, path, knotOf(units)})
		if !strings.HasPrefix(path, "internal/lab/") && !strings.HasPrefix(path, "internal/testing/") {
			all = append(all, doorsOf(p, path)...)
		}
		if shipped[p.PkgPath] {
			for _, f := range p.Syntax {
				ships += p.Fset.File(f.Pos()).LineCount()
			}
		}
	}
	return append(all, figure{product, "", ships})
}

// shippedOf are the packages that a program of users imports, and these programs.
func shippedOf(ps []*packages.Package) map[string]bool {
	shipped := map[string]bool{}
	var reach func(p *packages.Package)
	reach = func(p *packages.Package) {
		if p.Module == nil || !p.Module.Main || shipped[p.PkgPath] {
			return
		}
		shipped[p.PkgPath] = true
		for _, imported := range p.Imports {
			reach(imported)
		}
	}
	for _, p := range ps {
		if p.Name == "main" && strings.HasPrefix(p.PkgPath, p.Module.Path+"/cmd/") {
			reach(p)
		}
	}
	return shipped
}

// unit is a type with its methods and constants, or any other name that a package declares.
type unit struct {
	lines, methods int
	uses           map[string]bool // units of the package
}

// unitsOf returns the units of a package by name.
func unitsOf(p *packages.Package) map[string]*unit {
	units := map[string]*unit{}
	owner := map[types.Object]string{} // the unit of what is declared
	own := func(id *ast.Ident, node ast.Node) *unit {
		o := p.TypesInfo.Defs[id]
		name := cmp.Or(typeOf(o), id.Name)
		owner[o] = name
		if units[name] == nil {
			units[name] = &unit{uses: map[string]bool{}}
		}
		units[name].lines += p.Fset.Position(node.End()).Line - p.Fset.Position(node.Pos()).Line + 1
		return units[name]
	}
	nodes := map[ast.Node]*unit{} // whose identifiers are uses
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				nodes[d] = own(d.Name, d)
				if d.Recv != nil {
					nodes[d].methods++
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						nodes[s] = own(s.Name, s)
					case *ast.ValueSpec:
						for _, id := range s.Names {
							if id.Name != "_" {
								nodes[s] = own(id, s)
							}
						}
					}
				}
			}
		}
	}
	for node, u := range nodes {
		ast.Inspect(node, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				o := p.TypesInfo.Uses[id]
				if f, ok := o.(*types.Func); ok {
					o = f.Origin()
				}
				if name, ok := owner[o]; ok {
					u.uses[name] = true
				}
			}
			return true
		})
	}
	return units
}

// typeOf names the type of the package that a method or a constant belongs to, if there is one.
func typeOf(o types.Object) string {
	var t types.Type
	switch o := o.(type) {
	case *types.Func:
		recv := o.Signature().Recv()
		if recv == nil {
			return ""
		}
		t = recv.Type()
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
	case *types.Const:
		t = o.Type()
	}
	if t, ok := t.(*types.Named); ok && t.Obj().Pkg() == o.Pkg() {
		return t.Obj().Name()
	}
	return ""
}

// knotOf returns the lines of the largest knot: units each of which uses all others of them, directly or by others
// (Tarjan's strongly connected components). A unit on its own is none.
func knotOf(units map[string]*unit) int {
	largest := 0
	index, low := map[string]int{}, map[string]int{}
	var stack []string
	var visit func(v string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack = append(stack, v)
		for w := range units[v].uses {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if slices.Contains(stack, w) {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		at := slices.Index(stack, v)
		if tied := stack[at:]; len(tied) > 1 {
			lines := 0
			for _, w := range tied {
				lines += units[w].lines
			}
			largest = max(largest, lines)
		}
		stack = stack[:at]
	}
	for v := range units {
		if index[v] == 0 {
			visit(v)
		}
	}
	return largest
}
