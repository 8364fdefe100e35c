//go:build linux

package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/lab/office/visit"
)

// The page has a chapter for each kind of client, with a row for each step.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	chapters := []visit.Chapter{{Name: "Explorer", Steps: []visit.Step{
		{Title: "Drag in", Expected: "archived once", Seen: "it | is"}, {Title: "Delete", Expected: "denied", Err: errors.New("it\nsucceeded")},
	}}, {Name: "Finder"}}
	if err := Write(dir, chapters); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Explorer\n", "## Finder\n", "| Drag in | archived once | it · is |", "| Delete | denied | **FAILED**: it succeeded |", "1 passed, 1 failed\n"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page lacks %q:\n%s", want, b)
		}
	}
}
