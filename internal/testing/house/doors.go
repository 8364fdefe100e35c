package main

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/packages"
)

// doorsOf returns the figures that tell whether a package keeps to the doors of the others: how many methods of the module
// its types offer, with those of what they embed, and how often it takes a lock that is a field of another's type.
func doorsOf(p *packages.Package, path string) (all []figure) {
	scope := p.Types.Scope()
	for _, name := range scope.Names() {
		t, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || t.IsAlias() || types.IsInterface(t.Type()) {
			continue
		}
		n := 0
		for m := range types.NewMethodSet(types.NewPointer(t.Type())).Methods() {
			if ours(p, m.Obj()) {
				n++
			}
		}
		if n > 0 {
			all = append(all, figure{offered, path + "." + name, n})
		}
	}
	taken := map[string]int{}
	for _, f := range p.Syntax {
		ast.Inspect(f, func(n ast.Node) bool {
			if of := foreignLock(p, n); of != "" {
				taken[of]++
			}
			return true
		})
	}
	for of, n := range taken {
		all = append(all, figure{locks, path + ": " + of, n})
	}
	return all
}

// ours reports whether the module declares o.
func ours(p *packages.Package, o types.Object) bool {
	return o.Pkg() != nil && strings.HasPrefix(o.Pkg().Path()+"/", p.Module.Path+"/")
}

// foreignLock names the mutex that a call locks, if it is a field of another package of the module.
func foreignLock(p *packages.Package, n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	lock, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.Contains(lock.Sel.Name, "Lock") {
		return ""
	}
	field, ok := lock.X.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	s := p.TypesInfo.Selections[field]
	if s == nil || s.Kind() != types.FieldVal || s.Obj().Pkg() == p.Types || !ours(p, s.Obj()) {
		return ""
	}
	switch s.Obj().Type().String() {
	case "sync.Mutex", "sync.RWMutex", "*sync.Mutex", "*sync.RWMutex":
		return strings.TrimPrefix(s.Obj().Pkg().Path(), p.Module.Path+"/") + "." + s.Obj().Name()
	}
	return ""
}
