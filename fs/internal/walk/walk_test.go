package walk

import (
	"strings"
	"testing"
	"time"
)

// at is the path of a directory that is called by where it lies; "" is the root.
func at(dir string) (path []string) {
	for dir != "" {
		path = append(path, dir)
		up := max(strings.LastIndexByte(dir, '/'), 0)
		dir = dir[:up]
	}
	return append(path, "")
}

// topOf is what a walk goes over, "none" without one.
func topOf(w *Walk[string]) string {
	if w == nil {
		return "none"
	}
	return w.Top()
}

// newDetector makes a detector, and what lets time pass.
func newDetector() (d *Detector[string], passes func(time.Duration)) {
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	return New[string](func() time.Time { return now }), func(by time.Duration) { now = now.Add(by) }
}

// step is an event, some time after the one before.
type step struct {
	after time.Duration
	dir   string
	want  string // what the walk goes over
}

func TestOpening(t *testing.T) {
	for name, steps := range map[string][]step{
		"a walk from the third directory on": {{0, "a", "none"}, {pause, "a/b", "none"}, {pause, "a/c", "a"}, {0, "a/c/d", "a"}},
		"a person":                           {{0, "a", "none"}, {pause + 1, "a/b", "none"}, {pause + 1, "a/b/c", "none"}, {pause + 1, "a/b/c/d", "none"}},
		"a program after a person":           {{0, "a", "none"}, {pause + 1, "a/b", "none"}, {0, "a/b/c", "none"}, {0, "a/d", "a"}},
		"outside of where it began":          {{0, "a", "none"}, {0, "a/b", "none"}, {0, "c", "none"}, {0, "c/d", "none"}, {0, "c/e", "c"}},
		"a pause within a walk":              {{0, "a", "none"}, {0, "a/b", "none"}, {0, "a/c", "a"}, {memory, "a/d", "a"}},
		"a walk that is forgotten":           {{0, "a", "none"}, {0, "a/b", "none"}, {0, "a/c", "a"}, {memory + 1, "a/d", "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, passes := newDetector()
			for _, s := range steps {
				passes(s.after)
				if got := topOf(d.Opening(7, at(s.dir))); got != s.want {
					t.Fatalf("%s is opened within a walk over %q, want %q", s.dir, got, s.want)
				}
				if w := d.Opening(0, at(s.dir)); w != nil {
					t.Fatal("nobody walks")
				}
			}
		})
	}
}

// The pause of a program counts from its answer, however long that took.
func TestPausesCountFromTheAnswer(t *testing.T) {
	d, passes := newDetector()
	var got *Walk[string]
	for range needed {
		got = d.Opening(7, at("a"))
		passes(10 * pause)
		d.Opened(7)
	}
	if topOf(got) != "a" {
		t.Error("slow answers make it a person")
	}
	d.LookingUp(at("a"))
	passes(10 * pause)
	d.LookedUp()
	d.LookingUp(at("b"))
	if w := d.LookingUp(at("c")); topOf(w) != "" {
		t.Error("slow answers make it a person who looks names up")
	}
}

func TestProgramsThatAreWatchedAreBounded(t *testing.T) {
	d, passes := newDetector()
	for pid := uint32(1); pid <= 3*maxPrograms; pid++ {
		d.Opening(pid, at("a"))
		passes(1)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.byPID); n != maxPrograms || d.byPID[3*maxPrograms] == nil || d.byPID[1] != nil {
		t.Errorf("%d programs are watched, or not the last of them", n)
	}
}

func TestLookingUp(t *testing.T) {
	for name, steps := range map[string][]step{
		"three folders":              {{0, "a/b", "none"}, {pause, "a/c/d", "none"}, {pause, "a/e", "a"}, {0, "a/b/x", "a"}},
		"one after the other":        {{0, "a/b", "none"}, {pause + 1, "a/c", "none"}, {pause + 1, "a/d", "none"}, {pause + 1, "a/e", "none"}},
		"one path":                   {{0, "a", "none"}, {0, "a/b", "none"}, {0, "a/b/c", "none"}, {0, "a/b/c/d", "none"}, {0, "a", "none"}},
		"two mandators":              {{0, "a/b", "none"}, {0, "a/c", "none"}, {0, "d", ""}},
		"around where it began":      {{0, "a/b/c", "none"}, {0, "a/b/d", "none"}, {0, "a/b/e", "a/b"}, {0, "a/f", "a"}},
		"another mandator, unproven": {{0, "a/b", "none"}, {0, "a/c", "none"}, {0, "a/d", "a"}, {0, "e/b", "none"}, {0, "e/c", "none"}, {0, "e/d", "e"}},
		"forgotten":                  {{0, "a/b", "none"}, {0, "a/c", "none"}, {0, "a/d", "a"}, {memory + 1, "a/e", "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, passes := newDetector()
			for _, s := range steps {
				passes(s.after)
				if got := topOf(d.LookingUp(at(s.dir))); got != s.want {
					t.Fatalf("%s is looked up in within a walk over %q, want %q", s.dir, got, s.want)
				}
			}
		})
	}
}

// overLookups begins a walk by lookups over a directory.
func overLookups(t *testing.T, d *Detector[string], over string) *Walk[string] {
	t.Helper()
	var w *Walk[string]
	for _, below := range []string{"/x", "/y", "/z"} {
		w = d.LookingUp(at(over + below))
	}
	if topOf(w) != over {
		t.Fatalf("a walk over %q, want %q", topOf(w), over)
	}
	return w
}

// Lookups go on to another mandator when enough of what was prefetched was looked up in.
func TestProvenLookupsGoOnToAnotherMandator(t *testing.T) {
	d, _ := newDetector()
	overLookups(t, d, "a")
	for range proven {
		d.LookingUpPrefetched()
	}
	if got := topOf(d.LookingUp(at("e/b"))); got != "" {
		t.Errorf("it goes over %q, want the root", got)
	}
}

// A walk by lookups goes on to what lies around it when it has come to half of what was
// prefetched for it, once, and not beyond the mandator.
func TestAWalkGoesOnHalfWay(t *testing.T) {
	const prefetched = 2 * (proven + 4)
	d, _ := newDetector()
	w := overLookups(t, d, "a/b")
	comesTo := func(n int) (further []*Walk[string]) {
		for range n {
			if next := d.LookingUpPrefetched(); next != nil {
				further = append(further, next)
			}
		}
		return further
	}
	if got := comesTo(prefetched); len(got) != 0 {
		t.Errorf("before anything was prefetched it goes on to %q", got[0].Top())
	}
	d.Prefetched(w, prefetched)
	if got := comesTo(prefetched/2 - 1); len(got) != 0 {
		t.Errorf("before it is half-way it goes on to %q", got[0].Top())
	}
	got := comesTo(prefetched)
	if len(got) != 1 || got[0].Top() != "a" {
		t.Fatalf("half-way it goes on %d times", len(got))
	}
	d.Prefetched(w, prefetched) // of the former one
	counts := func() lookups[string] {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.lookups
	}
	if counts().further != 0 {
		t.Error("what was prefetched for the former walk counts")
	}
	d.Prefetched(got[0], 2)
	if l := counts(); l.further != l.ahead+proven {
		t.Errorf("after few folders it goes on at %d of %d", l.further, l.ahead)
	}
	if got := comesTo(prefetched); len(got) != 0 {
		t.Errorf("from the mandator it goes on to %q", got[0].Top())
	}
}

func TestBudgetsDouble(t *testing.T) {
	d, _ := newDetector()
	w := overLookups(t, d, "a")
	for want := lookupBudget; want < 1<<30; want *= 2 {
		if got := d.Spend(w); got != want {
			t.Fatalf("%d folders, want %d", got, want)
		}
	}
	d.Spend(w)
	if got := d.Spend(w); got != 1<<30 {
		t.Errorf("the budget grows to %d", got)
	}
}

func TestArea(t *testing.T) {
	opens := func(top string) *Walk[string] { return &Walk[string]{top: at(top)} }
	for name, tt := range map[string]struct {
		w     *Walk[string]
		comes []string
		want  string // the last time
	}{
		"a mandator":                       {opens(""), []string{"a/b/c"}, "a"},
		"another mandator":                 {opens(""), []string{"a/b/c", "d/e"}, ""},
		"what it began with":               {opens("a/b"), []string{"a/b/c/d"}, "a/b"},
		"what it began with, again":        {opens("a/b"), []string{"a/b/c/d", "a/b/e"}, "a/b"},
		"another mandator, by its lookups": {&Walk[string]{top: at(""), lookups: true}, []string{"a/b", "d/e"}, "d"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newDetector()
			var got string
			for _, dir := range tt.comes {
				got = d.Area(tt.w, at(dir))
			}
			if got != tt.want {
				t.Errorf("the structure of %q is asked for, want %q", got, tt.want)
			}
		})
	}
}

func TestLooks(t *testing.T) {
	w := new(Walk[string])
	if w.Looks() {
		t.Error("it looked before it did")
	}
	if w.Look(); !w.Looks() {
		t.Error("it did not look after it did")
	}
	if !(*Walk[string])(nil).Looks() {
		t.Error("who does not walk looks at no documents")
	}
}
