package apiclient

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// declared are the names of all operations.
func declared(t *testing.T) []string {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok {
				if made, ok := literal.Type.(*ast.Ident); ok && made.Name == "Operation" {
					name, err := strconv.Unquote(literal.Elts[0].(*ast.BasicLit).Value)
					if err != nil {
						t.Fatal(err)
					}
					names = append(names, name)
				}
			}
			return true
		})
	}
	if len(names) < 20 {
		t.Fatalf("only %q are declared", names)
	}
	return names
}

// Errors call an operation by words, and the log of requests calls it by its name.
func TestOperationsInWords(t *testing.T) {
	err := malformed(OpStructure, os.ErrInvalid)
	if want := "list the folders: unexpected answer: invalid argument"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	log, said := newLog()
	s := &sender{log: log}
	s.observe(OpStructure, nil, 0, 0, &archive.Error{Op: OpStructure.doing})
	if !strings.Contains(said.String(), "operation=archivestructure") {
		t.Error(said)
	}
}
