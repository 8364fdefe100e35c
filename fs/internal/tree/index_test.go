package tree

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// Indexes hold what maps would, however many entries come and go in whatever order, and
// what was handed out stays as it was.
func TestIndexesAreLikeMaps(t *testing.T) {
	for _, limit := range []int{5, smallIndex, smallIndex + 1, 500} {
		for _, reserve := range []int{0, 3, limit} {
			t.Run(fmt.Sprintf("%d entries, %d reserved", limit, reserve), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, uint64(limit)))
				var ids idIndex
				var names nameIndex
				ids.reserve(reserve)
				names.reserve(reserve)
				wantIDs, wantNames := map[archive.ID]*Entry{}, map[string]*Entry{}
				for range 3 * limit {
					id := archive.ID(r.IntN(limit))
					name := fmt.Sprint(id)
					before := names.All()
					copied := slices.Clone(before)
					if r.IntN(3) == 0 {
						ids.Remove(id)
						names.remove(name)
						delete(wantIDs, id)
						delete(wantNames, name)
					} else {
						e := &Entry{Name: name}
						ids.Put(id, e)
						names.put(e)
						wantIDs[id], wantNames[name] = e, e
					}
					if !slices.Equal(before, copied) {
						t.Fatal("a slice that was handed out has changed")
					}
					if ids.Get(id) != wantIDs[id] || names.Get(name) != wantNames[name] {
						t.Fatalf("%s: %v, %v", name, ids.Get(id), names.Get(name))
					}
				}
				if got := ids.IDs(); len(got) != len(wantIDs) || len(ids.List) != len(wantIDs) {
					t.Errorf("%d ids, want %d", len(got), len(wantIDs))
				}
				var all []string
				for _, e := range names.All() {
					all = append(all, e.Name)
				}
				if want := slices.Sorted(maps.Keys(wantNames)); !slices.Equal(all, want) {
					t.Errorf("%q, want %q", all, want)
				}
			})
		}
	}
}

// A change of a large directory that was listed does not sort its names again, unless there are many.
func TestNamesStaySorted(t *testing.T) {
	var all []*Entry
	for i := range 1000 {
		all = append(all, &Entry{Name: fmt.Sprintf("%04d", i)})
	}
	var x nameIndex
	x.fill(all)
	listed := x.All()
	for i := range smallIndex / 2 {
		x.put(&Entry{Name: fmt.Sprintf("%04d a", i)})
		x.remove(fmt.Sprintf("%04d", i))
		if len(x.sorted) != len(listed) || !slices.IsSortedFunc(x.sorted, byName) {
			t.Fatalf("after %d changes %d names are in order", i, len(x.sorted))
		}
	}
	if got := x.All(); got[0].Name != "0000 a" || listed[0].Name != "0000" {
		t.Errorf("%s, and before %s", got[0].Name, listed[0].Name)
	}
	for i := range smallIndex + 1 {
		x.put(&Entry{Name: fmt.Sprintf("%04d b", i)})
	}
	if x.sorted != nil || len(x.All()) != 1000+smallIndex+1 {
		t.Error("many names are inserted one by one")
	}
}
