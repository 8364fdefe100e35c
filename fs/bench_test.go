package fs

import (
	"fmt"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// many are the documents of a large folder.
const many = 10_000

// letters lists n documents of a folder, from the id first on.
func letters(folder, first archive.ID, n int) []archive.Document {
	list := make([]archive.Document, n)
	for i := range list {
		id := first + archive.ID(i)
		list[i] = archive.Document{ID: id, Folder: folder, Name: fmt.Sprintf("Rechnung Nr. %06d.pdf", id), Pages: 1, Size: 1000}
	}
	return list
}

// large is a folder whose documents are known.
func large() (*tree, *dir) {
	tr := newTree()
	d := tr.dir(folderDir)
	tr.folders(d)
	d.mergeDocuments(letters(77, 1, many), tr.next(), pdf)
	return tr, d
}

func BenchmarkLookup(b *testing.B) {
	_, d := large()
	names := make([]string, 0, many)
	for _, e := range d.entries() {
		names = append(names, e.name)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if e, err := d.lookup(b.Context(), names[i%many]); e == nil || err != nil {
			b.Fatal(e, err)
		}
		i++
	}
}

// BenchmarkReaddir reads a known folder of 10,000 documents, as a walk does.
func BenchmarkReaddir(b *testing.B) {
	_, d := large()
	h := &dirHandle{n: &dirNode{d: d}}
	h.told, h.entries = d.told(true)
	b.ReportAllocs()
	for b.Loop() {
		h.next = 0
		for e, _ := h.Readdirent(b.Context()); e != nil; e, _ = h.Readdirent(b.Context()) {
		}
	}
}

// BenchmarkMerge names and takes in a listing of 10,000 documents.
func BenchmarkMerge(b *testing.B) {
	tr := newTree()
	list := letters(77, 1, many)
	b.ReportAllocs()
	for b.Loop() {
		tr.dir(folderDir).mergeDocuments(list, tr.next(), pdf)
	}
}

// BenchmarkPlaceRecursiveList sorts a recursive list of 10,000 documents by 1,000 folders.
func BenchmarkPlaceRecursiveList(b *testing.B) {
	tr, list := recursive()
	b.ReportAllocs()
	for b.Loop() {
		place(b, tr, list)
	}
}

// place offers the folders what a recursive list says of them.
func place(tb testing.TB, tr *tree, list []archive.Document) {
	tb.Helper()
	var lists cache.PackedLists
	for i := range list {
		lists.Add(&list[i])
	}
	offers := tr.service.Documents.Ahead()
	defer offers.End()
	if !tr.offerBelow(offers, 1, &lists) || !tr.service.Documents.Fresh(placedFolders+1) {
		tb.Fatal("the folders were not offered")
	}
}

// placedFolders are the folders of a recursive list, beside the one that was listed.
const placedFolders = 1000

// recursive is a tree of which a walk knows the folders, and what a recursive list says of it.
func recursive() (*tree, []archive.Document) {
	tr := newTree()
	top := subtree{folders: placedFolders + 1, fetched: tr.time}
	var list []archive.Document
	for i := range archive.ID(placedFolders) {
		folder := i + 2
		top.children = append(top.children, folder)
		tr.ahead.trees[folder] = subtree{folders: 1, fetched: tr.time}
		list = append(list, letters(folder, folder*100, many/placedFolders)...)
	}
	tr.ahead.trees[1] = top
	return tr, list
}

// Placing a recursive list allocates in large pieces, not for each document or folder.
func TestPlacingAllocatesLittle(t *testing.T) {
	tr, list := recursive()
	allocs := testing.AllocsPerRun(10, func() { place(t, tr, list) })
	if allocs > placedFolders/5 {
		t.Errorf("%v allocations for %d folders", allocs, placedFolders)
	}
}
