//go:build linux

// Package report makes pages of what was seen at a share: docs/office.
package report

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/archivefs/archivefs/internal/lab/office/scanner"
	"github.com/archivefs/archivefs/internal/lab/office/visit"
)

//go:embed readme.md.tmpl
var clients string

// Clients writes the page of Windows and macOS into a directory.
func Clients(dir string, chapters []visit.Chapter) error {
	return write(filepath.Join(dir, "README.md"), clients, chapters)
}

//go:embed scanners.md.tmpl
var scanners string

// Scanners writes the page of devices that scan into a directory.
func Scanners(dir string, r *scanner.Report) error {
	return write(filepath.Join(dir, "scanners.md"), scanners, r)
}

func write(file, page string, data any) error {
	t, err := template.New("page").Funcs(template.FuncMap{"line": line, "title": title, "passed": visit.Passed, "failed": visit.Failed}).Parse(page)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return err
	}
	text := strings.TrimRight(b.String(), "\n") + "\n"
	return os.WriteFile(file, []byte(text), 0o644) //nolint:gosec // a page for everybody
}

// line is a text in one line of a table.
func line(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "·")
}

// title is a text with a capital at its beginning.
func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
