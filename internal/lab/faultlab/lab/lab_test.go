//go:build linux

package lab_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/lab/faultlab/lab"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newBench builds archivefs and the helpers, without the race detector: the runs are about
// what archivefs does to files, and are many.
func newBench(t *testing.T) *lab.Bench {
	t.Helper()
	fusetest.Need(t)
	dir := t.TempDir()
	b := &lab.Bench{
		Program: filepath.Join(dir, "archivefs"), Helper: []string{filepath.Join(dir, "faultlab"), "help-with"}, Dir: filepath.Join(dir, "runs"),
	}
	if err := os.Mkdir(b.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "faultlab", "-o", dir, "./cmd/archivefs", "./internal/lab/faultlab")
	build.Dir = filepath.Join("..", "..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() { wantNothingLeft(t, b) })
	return b
}

// wantNothingLeft fails the test when runs left a directory or a mount.
func wantNothingLeft(t *testing.T, b *lab.Bench) {
	t.Helper()
	left, err := os.ReadDir(b.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("runs left %v, %v", left, err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), b.Dir) {
		t.Errorf("runs left a mount, or %v", err)
	}
}

func TestHistoriesKeepThePromises(t *testing.T) {
	b := newBench(t)
	for n := range uint64(10) {
		h := history.New(1, n, history.Options{Writes: history.Modes()})
		r := b.Run(t.Context(), h)
		if r.Err != nil {
			t.Errorf("run %d (%s): %v", n, h.Digest(), r.Err)
		}
		for _, v := range r.Violations {
			t.Errorf("run %d (%s): %s: %s", n, h.Digest(), v.Kind, v.Text)
		}
	}
}

func TestAMountThatFailedCanBeRepeatedAfterACrash(t *testing.T) {
	b := newBench(t)
	fails := history.Strike{Point: spool.PointSwept, Nth: 1, Deed: history.FailFull}
	for n := range uint64(8) {
		h := history.New(1, n, history.Options{
			Writes: []history.Writes{history.Sync},
			Focus:  &history.Focus{Service: history.Full, Session: history.Session{Point: fails, End: history.Crash}},
		})
		if r := b.Run(t.Context(), h); r.Err != nil || len(r.Violations) > 0 {
			t.Errorf("run %d: %v, %v", n, r.Violations, r.Err)
		}
	}
}

func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	h := history.New(1, 0, history.Options{
		Writes: []history.Writes{history.Sync},
		Focus:  &history.Focus{Kinds: []history.Kind{history.Hanging}, Session: history.Session{End: history.Clean}},
	})
	for range 20 {
		h.Sessions = append(h.Sessions, h.Sessions[0]) // longer than it may take
	}
	if r := b.Run(ctx, h); r.Err == nil {
		t.Error("the run was judged although it was interrupted")
	}
}
