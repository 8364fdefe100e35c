//go:build linux

package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/lab/office/scanner"
	"github.com/archivefs/archivefs/internal/lab/office/visit"
)

// The page has a chapter for each kind of client, with a row for each step.
func TestClients(t *testing.T) {
	dir := t.TempDir()
	chapters := []visit.Chapter{{Name: "Explorer", Steps: []visit.Step{
		{Title: "Drag in", Expected: "archived once", Seen: "it | is"}, {Title: "Delete", Expected: "denied", Err: errors.New("it\nsucceeded")},
	}}, {Name: "Finder"}}
	if err := Clients(dir, chapters); err != nil {
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

// The page has what was done and what came of it, with the options that repeat it.
func TestScanners(t *testing.T) {
	dir := t.TempDir()
	p := scanner.NewPlan(7, 20, 6)
	r := &scanner.Report{Plan: p, Cuts: 3, Struck: map[string]int{string(scanner.KillMount): 2, "net reset after": 6}, Verdict: &scanner.Verdict{Documents: 18, Kept: 4, Early: 1, Lost: 5}}
	if err := Scanners(dir, r); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "scanners.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"`--seed 7 --jobs 20 --devices 6`", "| Connections cut | 3 |", "| Mount killed and mounted again | 2 |", "| Jobs by proftpd |",
		"| Documents that are a whole scan | 18 |", "kept as failed uploads | 4 |", "kept as a failed upload ([why](../OFFICE.md#4-scanners)) | 1 |", "| Lost | 5 |", "| More than once in the archive | 0 |", "| Requests that failed, reset after | 6 |",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page lacks %q:\n%s", want, b)
		}
	}
}
