package staging

import (
	"os"
	"strings"
	"testing"
)

// The table of phases in docs/ARCHITECTURE.md equals transitions, cell by cell.
func TestPhasesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[string][]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " *`")
		}
		if len(cells) == events+1 {
			drawn[cells[0]] = cells[1:]
		}
	}
	head := drawn["phase"]
	if len(head) != events || len(drawn) != phases+2 { // with the ruler below the head
		t.Fatalf("the page has no table of %d phases and %d events: %q", phases, events, drawn)
	}
	for p := range phase(phases) {
		for e := range event(events) {
			want := p.after(e).String()
			if p.after(e) == p {
				want = "" // nothing changes
			}
			if head[e] != e.String() || drawn[p.String()][e] != want {
				t.Errorf("%s, on %s: the page has %q (column %s), the table %q", p, e, drawn[p.String()][e], head[e], want)
			}
		}
	}
}

// What a close has returned holds in every phase that can follow.
func TestPhasesKeepPromises(t *testing.T) {
	promise := func(p phase) bool { return p == promised || p == broken || p == accepted || p == failed }
	ends := map[event]bool{onKeep: true, onRecall: true, onArrival: true, onUnlink: true}
	for p := range phase(phases) {
		for e := range event(events) {
			after := p.after(e)
			if promise(p) && !ends[e] && !promise(after) {
				t.Errorf("%s, on %s: %s forgets that a close was answered with success", p, e, after)
			}
			if p == removed && after != removed {
				t.Errorf("a removed file is %s after %s", after, e)
			}
			if (p == spoiled || p == broken) && (after == clean || after == dirty || after == promised) && !ends[e] {
				t.Errorf("%s, on %s: %s takes damaged bytes for good ones", p, e, after)
			}
		}
		if after := p.after(onRefusal); after.unfinished() {
			t.Errorf("%s, refused: %s is tried again by the next close", p, after)
		}
		if p != removed && p != lost && p.after(onArrival) != clean {
			t.Errorf("%s: what the archive has is %s", p, p.after(onArrival))
		}
	}
}
