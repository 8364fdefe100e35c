package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/packages"
)

// typeCheck gives a package its types, from those of the packages that it imports, and its errors. Only a whole package has
// the bodies of its functions checked, and its syntax left to the analyzers. These then know which of its functions
// print as Printf does, and which do not return.
func typeCheck(fset *token.FileSet, p *packages.Package, whole bool) {
	p.Fset, p.TypesInfo = fset, &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{},
		FileVersions: map[*ast.File]string{},
	}
	if p.PkgPath == "unsafe" {
		p.Types = types.Unsafe
		return
	}
	mode := parser.SkipObjectResolution
	if whole {
		mode |= parser.ParseComments
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, name, nil, mode)
		if f != nil {
			files = append(files, f)
		}
		if err != nil {
			refuse(p, err)
		}
	}
	config := types.Config{
		Importer: imports(p.Imports), Sizes: p.TypesSizes, IgnoreFuncBodies: !whole,
		Error: func(err error) { refuse(p, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	var uses *types.Info
	if whole {
		p.Syntax, uses = files, p.TypesInfo
	}
	p.Types, _ = config.Check(p.PkgPath, fset, files, uses) // its errors are told to Error
}

// refuse adds what the parser or the type checker says to the errors of a package.
func refuse(p *packages.Package, err error) {
	p.IllTyped = true
	add := func(pos token.Position, said string) {
		p.Errors = append(p.Errors, packages.Error{Pos: pos.String(), Msg: said})
	}
	var syntax scanner.ErrorList
	var wrong types.Error
	switch {
	case errors.As(err, &syntax):
		for _, e := range syntax {
			add(e.Pos, e.Msg)
		}
	case errors.As(err, &wrong):
		p.TypeErrors = append(p.TypeErrors, wrong)
		add(p.Fset.Position(wrong.Pos), wrong.Msg)
	default:
		add(token.Position{}, err.Error())
	}
}

// imports are the packages that a package imports, by the paths in its files.
type imports map[string]*packages.Package

// Import returns the types of a package.
func (i imports) Import(path string) (*types.Package, error) {
	p := i[path]
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p == nil || p.Types == nil {
		return nil, fmt.Errorf("no package %s", path)
	}
	return p.Types, nil
}
