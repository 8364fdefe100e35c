package cache_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// Whatever the order in which documents come, each folder has what Packing makes of its own.
func TestPackedListsAreThoseOfEachFolder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	folders := map[archive.ID][]archive.Document{}
	var all []archive.Document
	for i := range 3000 {
		name := fmt.Sprintf("Rechnung %d.pdf", i)
		if i == 1000 {
			name = strings.Repeat("länger als ein Stück ", 10_000)
		}
		doc := archive.Document{ID: archive.ID(i + 1), Folder: archive.ID(random.IntN(50) + 1), Name: name, Keywords: []string{"k"}}
		all = append(all, doc)
		folders[doc.Folder] = append(folders[doc.Folder], doc)
	}
	for name, order := range map[string]func(a, b archive.Document) int{
		"by id": func(a, b archive.Document) int { return cmp.Compare(a.ID, b.ID) },
		"by folder": func(a, b archive.Document) int {
			return cmp.Or(cmp.Compare(a.Folder, b.Folder), cmp.Compare(a.ID, b.ID))
		},
		"descending": func(a, b archive.Document) int { return cmp.Compare(b.ID, a.ID) },
	} {
		t.Run(name, func(t *testing.T) {
			slices.SortFunc(all, order)
			var lists cache.PackedLists
			for i := range all {
				lists.Add(&all[i])
			}
			if lists.Len() != len(all) || lists.Has(99) || !lists.Has(7) {
				t.Errorf("%d documents, one in 99: %v, one in 7: %v", lists.Len(), lists.Has(99), lists.Has(7))
			}
			p := cache.PackedDocuments()
			for folder, docs := range folders {
				if got := lists.Of(folder); got != p.Pack(docs) {
					t.Fatalf("folder %d has %v", folder, p.Unpack(got))
				}
			}
			if got := lists.Of(99); got != p.Pack(nil) {
				t.Errorf("a folder without documents has %q", got)
			}
		})
	}
}

func TestPackedListsKnowOtherFolders(t *testing.T) {
	for name, tt := range map[string]struct {
		folders []archive.ID
		want    bool
	}{
		"nothing":      {},
		"its own":      {folders: []archive.ID{3, 3}},
		"not told":     {folders: []archive.ID{0, 3}},
		"a sub-folder": {folders: []archive.ID{3, 4}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			var lists cache.PackedLists
			for i, folder := range tt.folders {
				lists.Add(&archive.Document{ID: archive.ID(i + 1), Folder: folder})
			}
			if got := lists.Beside(3); got != tt.want {
				t.Errorf("beside 3: %v", got)
			}
		})
	}
}
