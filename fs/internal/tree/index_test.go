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
