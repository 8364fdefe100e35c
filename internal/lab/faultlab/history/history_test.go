package history_test

import (
	"bytes"
	"testing"

	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/spool"
)

func both() history.Options { return history.Options{Writes: history.Modes()} }

func TestTheSameSeedGivesTheSameHistory(t *testing.T) {
	seen := map[string]bool{}
	for run := range uint64(200) {
		first, second := history.New(1, run, both()), history.New(1, run, both())
		if first.Digest() != second.Digest() {
			t.Fatalf("run %d: digests %s and %s", run, first.Digest(), second.Digest())
		}
		seen[first.Digest()] = true
	}
	if len(seen) != 200 {
		t.Errorf("200 runs have %d different histories", len(seen))
	}
	if history.New(1, 7, both()).Digest() == history.New(2, 7, both()).Digest() {
		t.Error("another seed gives the same history")
	}
}

func TestHistoriesReachEveryPlace(t *testing.T) {
	kills, shapes, ends := map[spool.Point]int{}, map[history.Shape]bool{}, map[history.End]bool{}
	kinds, writes := map[history.Kind]bool{}, map[history.Writes]bool{}
	var net, disk int
	for run := range uint64(500) {
		h := history.New(1, run, both())
		shapes[h.Service], writes[h.Writes] = true, true
		for _, s := range h.Sessions {
			ends[s.End] = true
			if s.Point.Deed == history.KillThere {
				kills[s.Point.Point]++
			}
			net, disk = net+len(s.Net), disk+len(s.Disk)
			for _, step := range s.Steps {
				for _, a := range step {
					kinds[a.Kind] = true
				}
			}
		}
	}
	for _, p := range spool.Points() {
		if kills[p] < 25 {
			t.Errorf("500 histories kill the program %d times at %s, want 25 at least: not each comes off", kills[p], p)
		}
	}
	if len(shapes) != len(history.Shapes()) || len(ends) != 3 || len(writes) != 2 || len(kinds) != 25 {
		t.Errorf("%d shapes, %d ends, %d modes of writing, %d kinds of actions", len(shapes), len(ends), len(writes), len(kinds))
	}
	if net == 0 || disk == 0 {
		t.Errorf("%d faults of the net, %d of the disk", net, disk)
	}
}

func TestContentsDiffer(t *testing.T) {
	h := history.New(3, 4, both())
	for i := 1; i < 256; i++ {
		for j := range i {
			if bytes.Equal(h.Content(i, 1), h.Content(j, 1)) {
				t.Fatalf("contents %d and %d are equal", i, j)
			}
		}
	}
	if !bytes.Equal(h.Content(9, 5000), h.Content(9, 5000)) {
		t.Error("a content is not the same twice")
	}
}

func TestAFocusIsFollowed(t *testing.T) {
	o := both()
	o.Focus = &history.Focus{
		Service: history.Full, Kinds: []history.Kind{history.Write}, Fsync: true, Size: 2,
		Session: history.Session{Point: history.Strike{Point: spool.PointRecover, Nth: 1, Deed: history.KillThere}, End: history.Crash},
	}
	h := history.New(1, 1, o)
	last := h.Sessions[len(h.Sessions)-1]
	if h.Service != history.Full || last.End != history.Crash || last.Point.Point != spool.PointRecover {
		t.Errorf("the focus was not followed: %+v", last)
	}
	if len(h.Sessions) != 2 {
		t.Errorf("%d sessions, want one more before it, which leaves something to recover", len(h.Sessions))
	}
	for _, step := range last.Steps {
		for _, a := range step {
			if a.Kind != history.Write || !a.Fsync || a.Size != 2 {
				t.Errorf("action %+v, want a synced write of 2 bytes", a)
			}
		}
	}
}
