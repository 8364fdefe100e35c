package spool

import (
	"strings"
	"testing"
)

// differsWithin ends early what bones does, and without an allocation.
func TestDiffersWithin(t *testing.T) {
	names := []string{"", "a", "ab", "b", "a b", "Größe.pdf", "Gro\u0308ße", "\u0308a", "a\u0308", "a\u0308\u0308b", "a\u0308b\u0308", "RECHNUNG 1", "rechnung-1", "rechnung-12", "Ä", "a\u0308 "}
	for _, a := range names {
		for _, b := range names {
			if got, want := differsWithin(a, bones(b)), !strings.HasPrefix(bones(a), bones(b)); got != want {
				t.Errorf("differsWithin(%q, %q) is %v", a, bones(b), got)
			}
		}
	}
	like := likenessOf("Rechnung 4711.pdf")
	if n := testing.AllocsPerRun(10, func() { like.matches("Größere Rechnung 4712.pdf") }); n > 0 {
		t.Errorf("%v allocations to compare two names", n)
	}
}
