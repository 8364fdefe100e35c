package cache

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// packedChunk is how many bytes PackedLists allocates at a time. Listings share a chunk, which is
// freed with the last of them.
const packedChunk = 32 << 10

// PackedLists sorts documents by their folders, and packs each document when it is added. So many
// folders can be listed at once in little more memory than their listings take. The zero value
// is empty. One goroutine at a time uses it.
type PackedLists struct {
	all []packedDocument
	// counts are the numbers of documents by folder. sorted says that all is sorted by folder.
	counts  map[archive.ID]int
	sorted  bool
	chunk   []byte          // the newest chunk of documents
	lists   strings.Builder // the newest chunk of listings
	scratch coder
}

type packedDocument struct {
	folder, id archive.ID
	packed     []byte
}

func (p packedDocument) compare(q packedDocument) int {
	return cmp.Or(cmp.Compare(p.folder, q.folder), cmp.Compare(p.id, q.id))
}

// Add adds a document. d is not kept.
func (p *PackedLists) Add(d *archive.Document) {
	p.scratch = coder{writing: true, out: p.scratch.out[:0]}
	p.scratch.document(d)
	if cap(p.chunk)-len(p.chunk) < len(p.scratch.out) {
		p.chunk = make([]byte, 0, max(packedChunk, len(p.scratch.out)))
	}
	begin := len(p.chunk)
	p.chunk = append(p.chunk, p.scratch.out...)
	p.all = append(p.all, packedDocument{d.Folder, d.ID, p.chunk[begin:len(p.chunk):len(p.chunk)]})
	if p.counts == nil {
		p.counts = map[archive.ID]int{}
	}
	p.counts[d.Folder]++
	p.sorted = false
}

// Len is how many documents were added.
func (p *PackedLists) Len() int { return len(p.all) }

// Has reports whether a document of the folder was added.
func (p *PackedLists) Has(folder archive.ID) bool { return p.counts[folder] > 0 }

// Beside reports whether a document of another folder was added.
func (p *PackedLists) Beside(folder archive.ID) bool {
	for other := range p.counts {
		if other != folder && other != 0 {
			return true
		}
	}
	return false
}

// Of returns the documents of a folder by ascending id, as PackedDocuments packs them. The list
// of a folder without documents is empty.
func (p *PackedLists) Of(folder archive.ID) string {
	if !p.sorted {
		slices.SortStableFunc(p.all, packedDocument.compare)
		p.sorted = true
	}
	n := p.counts[folder]
	p.scratch.out = binary.AppendUvarint(p.scratch.out[:0], uint64(n)) //nolint:gosec // a count
	if n > 0 {
		at, _ := slices.BinarySearchFunc(p.all, folder, func(d packedDocument, folder archive.ID) int { return cmp.Compare(d.folder, folder) })
		for _, d := range p.all[at : at+n] {
			p.scratch.out = append(p.scratch.out, d.packed...)
		}
	}
	if p.lists.Cap()-p.lists.Len() < len(p.scratch.out) {
		p.lists = strings.Builder{}
		p.lists.Grow(max(packedChunk, len(p.scratch.out)))
	}
	begin := p.lists.Len()
	_, _ = p.lists.Write(p.scratch.out) // it never fails
	return p.lists.String()[begin:]
}
