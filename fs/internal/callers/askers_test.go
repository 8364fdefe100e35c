package callers

import (
	"testing"
	"time"
)

// askersOf makes an Askers for programs whose threads are process*10 and up, and its clock.
func askersOf(kinds map[int]Kind) (*Askers, *time.Time) {
	now := time.Unix(1_000_000, 0)
	a := NewAskers(func() time.Time { return now })
	a.of = func(thread uint32) (int, Kind) { return int(thread / 10), kinds[int(thread/10)] }
	return a, &now
}

func TestArchiverGetsEveryLength(t *testing.T) {
	a, _ := askersOf(nil)
	for i := range uint32(5) { // the threads of one program
		if !a.Exact(10 + i) {
			t.Errorf("document %d: an estimate", i)
		}
		a.Opened(10 + i/2)
	}
}

func TestListingProgramGetsOneLengthAtMost(t *testing.T) {
	for kind, want := range map[Kind]int{Other: 1, Lister: 0, Namer: 0, Shell: 0, Crawler: 0, Thumbnailer: 0, Gatherer: 100} {
		a, now := askersOf(map[int]Kind{1: kind})
		got := 0
		for range 100 {
			*now = now.Add(pause / 2)
			if a.Exact(10) {
				got++
			}
		}
		if got != want {
			t.Errorf("kind %d: %d exact lengths of 100, want %d", kind, got, want)
		}
	}
}

func TestFileManagerGetsALengthWhenItAsksForThatAlone(t *testing.T) {
	a, now := askersOf(map[int]Kind{1: FileManager})
	if a.Trusts(10) == 0 {
		t.Fatal("it trusts no estimates")
	}
	if a.Exact(10) {
		t.Error("an exact length while it lists")
	}
	*now = now.Add(pause)
	if !a.Exact(10) {
		t.Error("an estimate of the first document that it compresses")
	}
	if a.Exact(10) {
		t.Error("an exact length of one that it asks for after another")
	}
	a.Opened(11)
	if !a.Exact(12) {
		t.Error("an estimate after it opened a document")
	}
}

func TestArchiverThatAShellBecameGetsEveryLength(t *testing.T) {
	kinds := map[int]Kind{1: Shell}
	a, _ := askersOf(kinds)
	a.Trusts(10)
	a.Exact(10)
	kinds[1] = Other
	if !a.Exact(10) {
		t.Error("an estimate")
	}
}

func TestProgramsAreForgottenWhenThereAreMany(t *testing.T) {
	a, now := askersOf(nil)
	for i := range uint32(10 * maxAskers) {
		*now = now.Add(pause / 100)
		if !a.Exact(10 * i) {
			t.Fatalf("program %d: an estimate", i)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.byThread); n > maxAskers {
		t.Errorf("%d threads are remembered", n)
	}
}
