//go:build linux

package suite

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/corpus"
	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// bench makes a bench on a small corpus that measures nothing yet.
func bench(t *testing.T) *Bench {
	t.Helper()
	shape, err := corpus.ShapeOf(corpus.Small)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	b := &Bench{
		Options: Options{
			Dir: filepath.Join(dir, "scratch"), Results: filepath.Join(dir, "results.json"), Workloads: []string{"find"}, Repeats: 2, Slow: time.Minute, Shape: shape, Seed: 7, Log: io.Discard,
		},
		servers: map[string]*server{}, digests: map[string]string{},
	}
	if err := b.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.scratch.Close() })
	return b
}

// tree is a session on the plain tree, whose page cache is left alone.
func tree(t *testing.T, b *Bench) *session {
	t.Helper()
	s, _, err := b.mount(t.Context(), systemOf(native), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What goes wrong is no measure, and is told.
func TestWhatFailsIsNoMeasure(t *testing.T) {
	b := bench(t)
	s := tree(t, b)
	ten := func(*corpus.Corpus) int { return 10 }
	for _, c := range []struct {
		command string
		want    func(*corpus.Corpus) int
		says    string
	}{
		{"echo 9", ten, "printed 9, want 10"},
		{`cat "$S/absent" | wc -c`, nil, "No such file"},
		{"exit 3", nil, "exit status 3"},
	} {
		r := &run{b: b, sys: s.sys, g: group{steps: []workload{{"step", c.command, c.want}}}}
		if _, err := r.step(t.Context(), s, 0, nil); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.command, err)
		}
		if _, ok := b.results.Best(native, "step"); ok {
			t.Errorf("%s was measured", c.command)
		}
	}
	r := &run{b: b, sys: s.sys, g: group{steps: []workload{{"step", "echo 10", ten}}}}
	if _, err := r.step(t.Context(), s, 0, nil); err != nil {
		t.Error(err)
	}
	if _, ok := b.results.Best(native, "step"); !ok {
		t.Error("nothing was measured")
	}
}

// A system that cannot be mounted fails the run once, and is not tried again.
func TestMountFails(t *testing.T) {
	b := bench(t)
	if err := b.measure(t.Context(), []system{{name: "broken", mount: "exit 3"}}); err != nil {
		t.Fatal(err)
	}
	if len(b.failures) != 1 || !strings.Contains(b.failures[0].Error(), "broken cannot be mounted") {
		t.Errorf("%v", b.failures)
	}
	saved, err := result.Read(b.Results)
	if err != nil || !strings.Contains(saved.Note("broken", "find_M_cold"), "cannot be mounted") {
		t.Errorf("%+v, %v", saved, err)
	}
}

// Other bytes than those of the tree are noticed, and what was measured with them goes.
func TestOtherBytes(t *testing.T) {
	b := bench(t)
	s := tree(t, b)
	other, err := machine.Start(t.Context(), "exec sleep 60", nil, b.logPath("other")) // stands for the process of a mount
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Stop)
	s.process = other
	r := &run{b: b, sys: s.sys, g: group{steps: []workload{{id: "step"}}, same: `sha256sum < "$BIG"`}}
	if err := r.compare(t.Context(), s); err != nil {
		t.Errorf("the same bytes: %v", err)
	}
	b.record(native, "step", 1, nil)
	s.env = append(s.env, "BIG="+b.corpus.BigIn())
	if err := r.compare(t.Context(), s); err == nil || !strings.Contains(err.Error(), "other bytes") {
		t.Errorf("other bytes: %v", err)
	}
	if _, ok := b.results.Best(native, "step"); ok {
		t.Error("the measure is still there")
	}
}

// The commands print on the tree itself what they are expected to print.
func TestExpectations(t *testing.T) {
	b := bench(t)
	s := tree(t, b)
	for _, g := range groups() {
		for i := range g.steps {
			if g.copy {
				continue
			}
			r := &run{b: b, sys: s.sys, g: g}
			if _, err := r.step(t.Context(), s, i, nil); err != nil {
				t.Errorf("%s: %v", g.steps[i].id, err)
			}
		}
	}
}

// What is copied in arrives, is new each time, and does not stay: whether cp copies, or each
// file is synced.
func TestCopyIn(t *testing.T) {
	b := bench(t)
	s := tree(t, b)
	seen := map[string]bool{}
	for _, name := range []string{native, native, nativeSynced} {
		s.sys = systemOf(name)
		for _, id := range []string{copySmall, copyBig} {
			if err := s.copyIn(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if b.results.Entry(name, id).Times == nil || b.results.Entry(name, id+returned).Times == nil {
				t.Errorf("%s was not measured", id)
			}
			digest, err := machine.Run(t.Context(), `find "$COPY" -type f -print0 | sort -z | xargs -0 cat | sha256sum`, []string{"COPY=" + s.copied[len(s.copied)-1]}, time.Minute)
			if err != nil || seen[digest.Output] {
				t.Errorf("%s by %s: %v, or bytes that were there before", id, name, err)
			}
			seen[digest.Output] = true
		}
	}
	if err := s.end(t.Context()); err != nil {
		t.Fatal(err)
	}
	if files, _, err := arrivedInTree(t.Context(), s, ""); files != 0 || err != nil {
		t.Errorf("%d files are left, %v", files, err)
	}
}

// Each repeat is a measure, and the systems take turns.
func TestRepeats(t *testing.T) {
	b := bench(t)
	var log strings.Builder
	b.Log, b.Workloads = &log, []string{groupCopy}
	if err := b.measure(t.Context(), []system{*systemOf(native), *systemOf(nativeSynced)}); err != nil || len(b.failures) > 0 {
		t.Fatal(err, b.failures)
	}
	for _, name := range []string{native, nativeSynced} {
		if n := len(b.results.Entry(name, copySmall).Times); n != b.Repeats {
			t.Errorf("%s: %d measures", name, n)
		}
	}
	var turns []string
	for line := range strings.Lines(log.String()) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == copySmall {
			turns = append(turns, f[0])
		}
	}
	if !slices.Equal(turns, []string{native, nativeSynced, native, nativeSynced}) {
		t.Errorf("in the order %v", turns)
	}
}

// Nothing is removed in a directory of somebody else, and two runs never share one.
func TestScratchIsOurs(t *testing.T) {
	home := t.TempDir()
	letter := filepath.Join(home, "state", "letter")
	if err := os.MkdirAll(letter, 0o700); err != nil {
		t.Fatal(err)
	}
	other := &Bench{Options: Options{Dir: home, Log: io.Discard}}
	if err := other.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "holds other things") {
		t.Errorf("a home is taken: %v", err)
	}
	if _, err := os.Stat(letter); err != nil {
		t.Error(err)
	}
	b := bench(t)
	second := &Bench{Options: b.Options}
	if err := second.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second run: %v", err)
	}
	if err := b.scratch.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.claim(); err != nil {
		t.Errorf("the next run: %v", err)
	}
	_ = second.scratch.Close() // it was only locked
}
