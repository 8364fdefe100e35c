//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is what go test -json says (go doc test2json).
type event struct {
	Action, Package, Test, Output string
}

// tally counts tests, subtests included, and packages. A package that fails without a failed
// test counts as one.
type tally struct {
	packages int // all, 0 where that is not known
	done     int
	passed   int
	failures []string              // by name
	running  map[string]*underTest // by package
}

// underTest is a package whose tests run.
type underTest struct {
	began   time.Time
	failed  bool
	tests   map[string]bool   // those that have begun; false: it waits for its turn (testing.T.Parallel)
	printed map[string]string // by test, until it ends
}

func (t *tally) fail(name string) { t.failures = append(t.failures, name) }

// take counts an event and returns what is to be shown of it.
func (t *tally) take(e event) string {
	p := t.running[e.Package]
	if p == nil && e.Package != "" { // go test fails packages that it cannot build without having begun
		p = &underTest{began: time.Now(), tests: map[string]bool{}, printed: map[string]string{}}
		t.running[e.Package] = p
	}
	switch e.Action {
	case "build-output":
		return e.Output
	case "run", "cont":
		p.tests[e.Test] = true
	case "pause":
		p.tests[e.Test] = false
	case "output":
		p.printed[e.Test] += e.Output
	case "pass", "fail", "skip":
		if e.Test == "" {
			return t.ended(e, p)
		}
		defer delete(p.printed, e.Test)
		delete(p.tests, e.Test)
		return t.test(e, p)
	}
	return ""
}

func (t *tally) test(e event, p *underTest) string {
	switch e.Action {
	case "pass":
		t.passed++
	case "fail":
		p.failed = true
		t.fail(e.Package + " " + e.Test)
		return p.printed[e.Test]
	case "skip":
		return "skip  " + e.Package + " " + e.Test + "\n"
	}
	return ""
}

// ended counts a package.
func (t *tally) ended(e event, p *underTest) string {
	delete(t.running, e.Package)
	t.done++
	place, took := fmt.Sprintf("%d of %d", t.done, t.packages), brief(time.Since(p.began))
	if _, of, said := strings.Cut(p.printed[""], worked); said {
		of, _, _ = strings.Cut(of, "\n")
		took += " for " + of
	}
	switch e.Action {
	case "pass":
		return fmt.Sprintf("ok    %s (%s, %s)\n", e.Package, took, place)
	case "skip":
		return fmt.Sprintf("-     %s (no tests, %s)\n", e.Package, place)
	}
	if tests := p.begun(); len(tests) > 0 {
		t.fail(e.Package + " in " + strings.Join(tests, " "))
	} else if !p.failed {
		t.fail(e.Package)
	}
	return p.all() + fmt.Sprintf("FAIL  %s (%s, %s)\n", e.Package, took, place)
}

// begun is the tests that have not ended.
func (p *underTest) begun() []string { return slices.Sorted(maps.Keys(p.tests)) }

// working is begun without those that wait for their turn.
func (p *underTest) working() []string {
	return slices.DeleteFunc(p.begun(), func(test string) bool { return !p.tests[test] })
}

// all is what a package has printed for tests that have not ended, and for none.
func (p *underTest) all() (text string) {
	for _, test := range slices.Sorted(maps.Keys(p.printed)) {
		text += p.printed[test]
	}
	return text
}

// now says what runs.
func (t *tally) now() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %d packages are done", t.done, t.packages)
	for _, name := range slices.Sorted(maps.Keys(t.running)) {
		p := t.running[name]
		fmt.Fprintf(&text, "; %s has run for %s", name, brief(time.Since(p.began)))
		if tests := p.working(); len(tests) > 0 {
			text.WriteString(", now " + strings.Join(tests, " "))
		}
	}
	return text.String()
}

// abandon counts what has not ended as failed, and returns what it has printed.
func (t *tally) abandon(why string) (text string) {
	for _, name := range slices.Sorted(maps.Keys(t.running)) {
		p := t.running[name]
		text += p.all()
		if len(p.tests) == 0 {
			t.fail(name + " (" + why + ")")
		}
		for _, test := range p.begun() {
			t.fail(name + " " + test + " (" + why + ")")
		}
	}
	if rest := t.packages - t.done - len(t.running); rest > 0 {
		t.fail(fmt.Sprintf("%d packages that were not begun (%s)", rest, why))
	}
	return text
}

// verdict names what has failed. Its last line has the numbers.
func (t *tally) verdict(w io.Writer, took time.Duration) {
	if len(t.failures) > 0 {
		_, _ = fmt.Fprintln(w, "== failed")
	}
	for _, name := range t.failures {
		_, _ = fmt.Fprintln(w, name)
	}
	_, _ = fmt.Fprintf(w, "== ended after %s\n%d passed, %d failed\n", brief(took), t.passed, len(t.failures))
}
