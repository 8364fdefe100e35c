package tree

import (
	"fmt"
	"testing"

	"github.com/archivefs/archivefs/archive"
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
func large() (*testTree, *Dir) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.folders(d)
	d.Tree.mergeDocuments(d, letters(77, 1, many), tr.next(), pdf)
	return tr, d
}

func BenchmarkLookup(b *testing.B) {
	_, d := large()
	names := make([]string, 0, many)
	for _, e := range d.Entries() {
		names = append(names, e.Name)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if e, err := d.Tree.Lookup(b.Context(), d, names[i%many]); e == nil || err != nil {
			b.Fatal(e, err)
		}
		i++
	}
}

// BenchmarkMerge names and takes in a listing of 10,000 documents.
func BenchmarkMerge(b *testing.B) {
	tr := newTree()
	list := letters(77, 1, many)
	b.ReportAllocs()
	for b.Loop() {
		tr.mergeDocuments(tr.dir(FolderDir), list, tr.next(), pdf)
	}
}
