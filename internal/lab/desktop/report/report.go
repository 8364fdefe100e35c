//go:build linux

// Package report makes a page of what was seen on a desktop: docs/desktop.
package report

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/dustin/go-humanize"

	"github.com/archivefs/archivefs/internal/lab/desktop/tour"
)

//go:embed readme.md.tmpl
var page string

// Write writes the page into a directory that has the pictures.
func Write(dir string, visits []*tour.Visit) error {
	t, err := template.New("page").Funcs(template.FuncMap{"bytes": size, "line": line}).Parse(page)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, visits); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "README.md"), []byte(b.String()), 0o644) //nolint:gosec // a page for everybody
}

func size(n int64) string {
	if n == 0 {
		return "none"
	}
	return humanize.IBytes(uint64(n)) //nolint:gosec // a count
}

// line is a text in one line of a table.
func line(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "·")
}
