//go:build linux

package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/lab/programs/site"
	"github.com/archivefs/archivefs/internal/lab/programs/trial"
)

// Places at which a trial ended alike share a row; names that a program makes up do not tell them apart.
func TestWrite(t *testing.T) {
	saves := &trial.Trial{Program: "python3", Does: "saves", After: trial.Tree{"a.txt": "a"}}
	report := &trial.Trial{Program: "qpdf", Does: "a | b", Source: "qpdf/qpdf#1773", Report: true, Limit: "nobody knows", After: trial.Tree{"a.txt": "a"}}
	full, graced := site.Conditions{Service: site.Full}, site.Conditions{Service: site.Full, Grace: trial.Grace}
	all := []*trial.Outcome{
		{Trial: saves, Place: trial.Place{Conditions: full}, Has: []string{"tmpabcdefgh 1 B"}, Faults: []string{"the service has tmpabcdefgh"}},
		{Trial: saves, Place: trial.Place{Conditions: full, Inbox: true}, Has: []string{"tmp12345678 1 B"}, Faults: []string{"the service has tmp12345678"}},
		{Trial: saves, Place: trial.Place{Conditions: graced}, Has: []string{"a.txt 1 B"}},
		{Trial: report, Place: trial.Place{Conditions: graced}, Limits: []string{"something"}},
	}
	file := filepath.Join(t.TempDir(), "programs.md")
	if err := Write(file, all); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 trials ended as meant, 1 at a limit, 2 not as meant",
		"| python3 | saves | folder and inbox: full | tmpXXXXXXXX 1 B |  | **FAULT**: the service has tmpXXXXXXXX |\n",
		"| python3 | saves | folder: full, grace | a.txt 1 B |  | as meant |\n",
		"| qpdf | a · b (qpdf/qpdf#1773) | folder: full, grace |  |  | limit: nobody knows |\n",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page lacks %q:\n%s", want, b)
		}
	}
}
