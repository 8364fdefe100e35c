//go:build linux

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/report"
	"github.com/archivefs/archivefs/internal/lab/bench/result"
	"github.com/archivefs/archivefs/internal/lab/bench/suite"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// built is where archivefs is built, once for all tests.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "archivefs-bench-test-")
	if err != nil {
		panic(err)
	}
	built = filepath.Join(dir, "archivefs")
	status := m.Run()
	_ = os.RemoveAll(dir) // it is below the directory for temporary files
	os.Exit(status)
}

// build builds archivefs as scripts/bench does.
func build(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(built); err == nil {
		return built
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "profile", "-o", built, "../../../cmd/archivefs")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return built
}

// Everything is measured on a small corpus, and every target has its figures on the page, those
// of the bare service among them.
func TestSuiteAndPage(t *testing.T) {
	fusetest.Need(t)
	dir := t.TempDir()
	args := []string{
		"--dir", filepath.Join(dir, "scratch"), "--results", filepath.Join(dir, "results.json"), "--archivefs", build(t), "--scale", "small",
		"--repeats", "1", "--delay", "1ms", "--systems", "native-fdatasync,archivefs,archivefs-async,archivefs-foreign,archivefs-foreign-async",
	}
	o, _, err := readOptions(args)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	o.Log = &log
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.String())
		}
	})
	if err := suite.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	wantNoMount(t, dir)
	s, err := result.Read(o.Results)
	if err != nil {
		t.Fatal(err)
	}
	for workload, repeats := range map[string]int{"mount_ls": 1, "find_M_cold": 1, "cpin512": 1, "growth_10000_find": 1, "get512": 0} {
		if e := s["archivefs"][workload]; e != nil && len(e.Times) != repeats || e == nil && repeats > 0 {
			t.Errorf("%s: %+v", workload, e)
		}
	}
	if e := s["archivefs"]["find_M_cold"]; e != nil && e.Total() == 0 {
		t.Error("a cold find asks for nothing")
	}
	if e := s["archivefs"]["cat2000_warm"]; e != nil && e.Total() != 0 {
		t.Errorf("a warm cat asks for %v", e.Requests)
	}
	docs := filepath.Join(dir, "docs")
	if err := report.Write(o.Results, docs); err != nil {
		t.Fatal(err)
	}
	wantPage(t, docs)
}

// wantPage wants a verdict on every target, and that all that the page shows is there.
func wantPage(t *testing.T, docs string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(docs, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for row := range 21 {
		found := slices.ContainsFunc(strings.Split(string(page), "\n"), func(line string) bool {
			return strings.HasPrefix(line, fmt.Sprintf("| %d | ", row+1)) && (strings.HasSuffix(line, "| yes |") || strings.HasSuffix(line, "| **no** |")) &&
				!strings.Contains(line, " / - | - / - |") // of the bare service there are requests
		})
		if !found {
			t.Errorf("no verdict on target %d, or none on the bare service", row+1)
		}
	}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		copied := strings.HasPrefix(line, "| `cp") && strings.Contains(line, ", async, ") || strings.HasPrefix(line, "| the service alone")
		if copied && (cells[4] == "-" || cells[6] == "-") {
			t.Errorf("no ratio: %s", line)
		}
		if strings.HasPrefix(line, "| `find`, cold, for each") && slices.Contains(cells, "-") {
			t.Errorf("no verdict on growth: %s", line)
		}
	}
	plots, err := filepath.Glob(filepath.Join(docs, "*.svg"))
	if err != nil || len(plots) == 0 {
		t.Errorf("no plots, %v", err)
	}
	for _, plot := range plots {
		if !strings.Contains(string(page), "]("+filepath.Base(plot)+")") {
			t.Errorf("%s is not shown", plot)
		}
	}
}

func wantNoMount(t *testing.T, dir string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("something is still mounted below %s (%v)", dir, err)
	}
}

// A run that is interrupted leaves no mount and no process behind.
func TestInterrupted(t *testing.T) {
	fusetest.Need(t)
	dir := t.TempDir()
	o, _, err := readOptions([]string{
		"--dir", filepath.Join(dir, "scratch"), "--archivefs", build(t), "--scale", "small", "--systems", "archivefs", "--workloads", "list,find,big",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Log = &canceller{after: "find_M_cold", cancel: cancel}
	if err := suite.Run(ctx, o); err == nil {
		t.Error("it went on")
	}
	wantNoMount(t, dir)
	wantNoProcess(t, dir)
}

// canceller cancels when something is said.
type canceller struct {
	after  string
	cancel func()
}

func (c *canceller) Write(b []byte) (int, error) {
	if strings.Contains(string(b), c.after) {
		c.cancel()
	}
	return len(b), nil
}

// wantNoProcess wants no child of this process whose command line names dir.
func wantNoProcess(t *testing.T, dir string) {
	t.Helper()
	files, err := fs.Glob(os.DirFS("/proc/self/task"), "*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(filepath.Join("/proc/self/task", file))
		for pid := range strings.FieldsSeq(string(text)) {
			line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
			if strings.Contains(string(line), dir) {
				t.Errorf("process %s is left: %q", pid, line)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	o, _, err := readOptions([]string{"--systems", "native,sshfs", "--workloads", "find", "--repeats", "5", "--dir", "x"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.Systems, []string{"native", "sshfs"}) || !slices.Equal(o.Workloads, []string{"find"}) || o.Repeats != 5 ||
		o.Slow != 25*time.Second || !filepath.IsAbs(o.Results) {
		t.Errorf("%+v", o)
	}
	for _, wrong := range [][]string{{"--systems", "nfs"}, {"--workloads", "find,walk"}, {"--scale", "huge"}, {"find"}, {"--repeat", "3"}} {
		if _, _, err := readOptions(wrong); err == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
	if _, r, err := readOptions([]string{"--render", "results.json"}); err != nil || r.results != "results.json" || r.docs != "docs/benchmarks" {
		t.Errorf("%+v, %v", r, err)
	}
}
