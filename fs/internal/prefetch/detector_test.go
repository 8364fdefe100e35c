package prefetch

import (
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// named is a directory that is called by where it lies; "" is the root.
type named string

func (named) ID() archive.ID { return 0 }
func (named) Wants() bool    { return true }

// at is the path of a directory.
func at(dir string) (path []Folder) {
	for dir != "" {
		path = append(path, named(dir))
		up := max(strings.LastIndexByte(dir, '/'), 0)
		dir = dir[:up]
	}
	return append(path, named(""))
}

// topOf is what a walk goes over, "none" without one.
func topOf(w *Walk) string {
	if w == nil {
		return "none"
	}
	return nameOf(w.over())
}

// nameOf is what a directory is called.
func nameOf(f Folder) string { return string(f.(named)) }

// watching is a detector, and what lets time pass.
func watching() (d *detector, passes func(time.Duration)) {
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	return newDetector(func() time.Time { return now }), func(by time.Duration) { now = now.Add(by) }
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
			d, passes := watching()
			for _, s := range steps {
				passes(s.after)
				if got := topOf(d.opening(7, at(s.dir))); got != s.want {
					t.Fatalf("%s is opened within a walk over %q, want %q", s.dir, got, s.want)
				}
				if w := d.opening(0, at(s.dir)); w != nil {
					t.Fatal("nobody walks")
				}
			}
		})
	}
}

// The pause of a program counts from its answer, however long that took.
func TestPausesCountFromTheAnswer(t *testing.T) {
	d, passes := watching()
	var got *Walk
	for range needed {
		got = d.opening(7, at("a"))
		passes(10 * pause)
		d.Opened(7)
	}
	if topOf(got) != "a" {
		t.Error("slow answers make it a person")
	}
	d.lookingUp(at("a"))
	passes(10 * pause)
	d.lookedUp()
	d.lookingUp(at("b"))
	if w := d.lookingUp(at("c")); topOf(w) != "" {
		t.Error("slow answers make it a person who looks names up")
	}
}

func TestProgramsThatAreWatchedAreBounded(t *testing.T) {
	d, passes := watching()
	for pid := uint32(1); pid <= 3*maxPrograms; pid++ {
		d.opening(pid, at("a"))
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
			d, passes := watching()
			for _, s := range steps {
				passes(s.after)
				if got := topOf(d.lookingUp(at(s.dir))); got != s.want {
					t.Fatalf("%s is looked up in within a walk over %q, want %q", s.dir, got, s.want)
				}
			}
		})
	}
}

// overLookups begins a walk by lookups over a directory.
func overLookups(t *testing.T, d *detector, over string) *Walk {
	t.Helper()
	var w *Walk
	for _, below := range []string{"/x", "/y", "/z"} {
		w = d.lookingUp(at(over + below))
	}
	if topOf(w) != over {
		t.Fatalf("a walk over %q, want %q", topOf(w), over)
	}
	return w
}

// Lookups go on to another mandator when enough of what was prefetched was looked up in.
func TestProvenLookupsGoOnToAnotherMandator(t *testing.T) {
	d, _ := watching()
	overLookups(t, d, "a")
	for range proven {
		d.LookingUpPrefetched()
	}
	if got := topOf(d.lookingUp(at("e/b"))); got != "" {
		t.Errorf("it goes over %q, want the root", got)
	}
}

func TestBudgetsDouble(t *testing.T) {
	d, _ := watching()
	w := overLookups(t, d, "a")
	for want := lookupBudget; want < 1<<30; want *= 2 {
		if got := d.spend(w); got != want {
			t.Fatalf("%d folders, want %d", got, want)
		}
	}
	d.spend(w)
	if got := d.spend(w); got != 1<<30 {
		t.Errorf("the budget grows to %d", got)
	}
}

func TestArea(t *testing.T) {
	opens := func(top string) *Walk { return &Walk{top: at(top)} }
	for name, tt := range map[string]struct {
		w     *Walk
		comes []string
		want  string // the last time
	}{
		"a mandator":                       {opens(""), []string{"a/b/c"}, "a"},
		"another mandator":                 {opens(""), []string{"a/b/c", "d/e"}, ""},
		"what it began with":               {opens("a/b"), []string{"a/b/c/d"}, "a/b"},
		"what it began with, again":        {opens("a/b"), []string{"a/b/c/d", "a/b/e"}, "a/b"},
		"another mandator, by its lookups": {&Walk{top: at(""), lookups: true}, []string{"a/b", "d/e"}, "d"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := watching()
			var got string
			for _, dir := range tt.comes {
				got = nameOf(d.area(tt.w, at(dir)))
			}
			if got != tt.want {
				t.Errorf("the structure of %q is asked for, want %q", got, tt.want)
			}
		})
	}
}

func TestLooks(t *testing.T) {
	w := new(Walk)
	if w.Looks() {
		t.Error("it looked before it did")
	}
	if w.Look(); !w.Looks() {
		t.Error("it did not look after it did")
	}
	if !(*Walk)(nil).Looks() {
		t.Error("who does not walk looks at no documents")
	}
}
