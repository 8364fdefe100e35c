//go:build linux

// Package report makes a page of what was seen at a share: docs/office.
package report

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/archivefs/archivefs/internal/lab/office/visit"
)

//go:embed readme.md.tmpl
var page string

// Write writes the page into a directory.
func Write(dir string, chapters []visit.Chapter) error {
	t, err := template.New("page").Funcs(template.FuncMap{"line": line, "passed": visit.Passed, "failed": visit.Failed}).Parse(page)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, chapters); err != nil {
		return err
	}
	text := strings.TrimRight(b.String(), "\n") + "\n"
	return os.WriteFile(filepath.Join(dir, "README.md"), []byte(text), 0o644) //nolint:gosec // a page for everybody
}

// line is a text in one line of a table.
func line(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "·")
}
