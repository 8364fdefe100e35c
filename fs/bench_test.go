package fs

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
func large() (*testTree, *dir) {
	tr := newTree()
	d := tr.dir(folderDir)
	tr.folders(d)
	d.tree.mergeDocuments(d, letters(77, 1, many), tr.next(), pdf)
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
		if e, err := d.tree.lookup(b.Context(), d, names[i%many]); e == nil || err != nil {
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
		tr.mergeDocuments(tr.dir(folderDir), list, tr.next(), pdf)
	}
}
