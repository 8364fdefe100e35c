package fs

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
				wantIDs, wantNames := map[archive.ID]*entry{}, map[string]*entry{}
				for range 3 * limit {
					id := archive.ID(r.IntN(limit))
					name := fmt.Sprint(id)
					before := names.all()
					copied := slices.Clone(before)
					if r.IntN(3) == 0 {
						ids.remove(id)
						names.remove(name)
						delete(wantIDs, id)
						delete(wantNames, name)
					} else {
						e := &entry{name: name}
						ids.put(id, e)
						names.put(e)
						wantIDs[id], wantNames[name] = e, e
					}
					if !slices.Equal(before, copied) {
						t.Fatal("a slice that was handed out has changed")
					}
					if ids.get(id) != wantIDs[id] || names.get(name) != wantNames[name] {
						t.Fatalf("%s: %v, %v", name, ids.get(id), names.get(name))
					}
				}
				if got := ids.ids(); len(got) != len(wantIDs) || len(ids.list) != len(wantIDs) {
					t.Errorf("%d ids, want %d", len(got), len(wantIDs))
				}
				var all []string
				for _, e := range names.all() {
					all = append(all, e.name)
				}
				if want := slices.Sorted(maps.Keys(wantNames)); !slices.Equal(all, want) {
					t.Errorf("%q, want %q", all, want)
				}
			})
		}
	}
}
