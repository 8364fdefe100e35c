package notify

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Whatever happens in whatever order: a message that is due says something, at most once a minute.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		g, now := group{cure: "ask Erika"}, time.Unix(1e9, 0)
		var last time.Time
		for range 2000 {
			now = now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
			id := fmt.Sprint(r.IntN(2 * maxFailures))
			switch r.IntN(20) {
			case 0:
				g.trouble(&g.disk, "full", now)
			case 1:
				g.trouble(&g.refused, "401", now)
			case 2:
				g.seen()
			case 3, 4, 5, 6, 7:
				g.arrive(id)
			default:
				g.fail(failure{id: id, path: "A/" + id, reason: fmt.Sprint(r.IntN(3))}, now)
			}
			if at, any := g.due(); any && !now.Before(at) {
				if !last.IsZero() && now.Sub(last) < between {
					t.Fatalf("seed %d: a message %v after the one before", seed, now.Sub(last))
				}
				last = now
				if m := g.take(now); m.Summary == "" {
					t.Fatalf("seed %d: a message without a word", seed)
				}
			}
			if len(g.failures) > maxFailures {
				t.Fatalf("seed %d: %d failures are kept", seed, len(g.failures))
			}
		}
	}
}

// What lasts is told again with what is new, what is over is not.
func TestTroubleThatIsOver(t *testing.T) {
	g, now := group{}, time.Unix(1e9, 0)
	g.trouble(&g.disk, "full", now)
	if m := g.take(now); !m.Urgent {
		t.Errorf("%+v", m)
	}
	g.fail(failure{id: "1", path: "A/a.pdf", reason: "no room"}, now)
	if m := g.take(now.Add(between)); !m.Urgent {
		t.Errorf("%+v, want both", m)
	}
	g.fail(failure{id: "2", path: "A/b.pdf", reason: "no room"}, now)
	if m := g.take(now.Add(repeatAfter)); m.Urgent {
		t.Errorf("%+v, want no word of the disk", m)
	}
}
