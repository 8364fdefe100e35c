//go:build linux

package scanner

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/archivefs/archivefs/internal/whole"
)

// A seed gives the same plan again, with all kinds and troubles; another one gives another.
func TestPlanComesFromItsSeed(t *testing.T) {
	a, b, other := NewPlan(7, 400, 4), NewPlan(7, 400, 4), NewPlan(8, 400, 4)
	if fmt.Sprintf("%+v", describe(a)) != fmt.Sprintf("%+v", describe(b)) || describe(a) == describe(other) {
		t.Error("the plan is not that of its seed")
	}
	kinds, whats := map[Kind]int{}, map[What]int{}
	for _, j := range a.Jobs {
		kinds[j.Kind]++
		if j.Kind == BrokenOff && j.Cut == 0 {
			t.Errorf("job %d does not break off", j.N)
		}
	}
	for _, trouble := range a.Troubles {
		whats[trouble.What]++
	}
	if len(kinds) != len(Kinds()) || len(whats) != 3 {
		t.Errorf("%v, %v", kinds, whats)
	}
}

func describe(p *Plan) string {
	var b bytes.Buffer
	for _, j := range p.Jobs {
		fmt.Fprintln(&b, j.N, j.Device, j.Kind, j.Pause, j.Cut)
		for _, paper := range j.Papers {
			fmt.Fprintf(&b, "%s %x\n", paper.Name, paper.Content())
		}
	}
	fmt.Fprintf(&b, "%+v\n", p.Troubles)
	return b.String()
}

// bytesOf is a content as archivefs looks at it.
type bytesOf struct{ *bytes.Reader }

// A scan lacks its end before its last page has come, and not after it.
func TestPapersHaveAnEnd(t *testing.T) {
	for _, j := range NewPlan(1, 200, 2).Jobs {
		for _, paper := range j.Papers {
			all := paper.Content()
			if err := whole.Check(bytesOf{bytes.NewReader(all)}); err != nil {
				t.Errorf("%s: %v", paper.Name, err)
			}
			if papers, pages := pagesIn(all); len(pages) != len(paper.parts) || papers[0] != paper.N {
				t.Errorf("%s has the pages %v of %v", paper.Name, pages, papers)
			}
			half := all[:len(all)-len(paper.parts[len(paper.parts)-1])/2-1]
			if err := whole.Check(bytesOf{bytes.NewReader(half)}); err == nil {
				t.Errorf("half of %s counts as whole", paper.Name)
			}
		}
	}
}
