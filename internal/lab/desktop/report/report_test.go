//go:build linux

package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/lab/desktop/tour"
)

// The page has a chapter for each program, with a row for each step and the pictures below.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	visits := []*tour.Visit{
		{Name: "Thunar", Version: "4.18", Note: "It has no tabs.", Steps: []tour.Step{
			{Title: "Copy in", Expected: "the archive has it", Seen: "it | has", Picture: "copy.png"},
			{Title: "Delete", Expected: "refused", Err: errors.New("nothing\nwas said")},
		}},
		{Name: "Dolphin"},
	}
	if err := Write(dir, visits); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# On a desktop\n", "## Thunar\n\n4.18\n\nIt has no tabs.\n", "## Dolphin\n",
		"| Copy in | the archive has it | it · has |", "| Delete | refused | **FAILED**: nothing was said |",
		"![Copy in](copy.png)\n\n*Copy in: the archive has it*\n",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page lacks %q:\n%s", want, b)
		}
	}
}
