package apiclient

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// Errors call every operation by words, and the log of requests calls it what it is.
func TestOperationsInWords(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "operation.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		op, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if archive.Doing(op) == op {
			t.Errorf("%s has no words", op)
		}
		return true
	})
	if seen < 20 {
		t.Errorf("only %d operations are known", seen)
	}
	text := (&archive.Error{Op: string(OpStructure), Kind: archive.KindUnauthorized, Status: 401, Detail: "no"}).Error()
	if want := "list the folders: credentials refused (HTTP 401): no"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	log, said := newLog()
	s := &sender{log: log}
	s.observe(OpStructure, nil, 0, &archive.Error{Op: string(OpStructure)})
	if !strings.Contains(said.String(), "operation=archivestructure") {
		t.Error(said)
	}
}
