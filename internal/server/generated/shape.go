package generated

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// The most that can be asked for: a client gets all folders in one answer.
const (
	maxFolders   = 10_000_000
	maxDocuments = 1_000_000
)

// Shape is how large the archive is.
type Shape struct {
	Folders   int // mandators included
	Documents int // in each of the folders
}

// ParseShape reads what String writes: "100000x10".
func ParseShape(s string) (Shape, error) {
	folders, documents, found := strings.Cut(s, "x")
	f, err1 := strconv.Atoi(folders)
	d, err2 := strconv.Atoi(documents)
	if !found || err1 != nil || err2 != nil {
		return Shape{}, fmt.Errorf("%q is no number of folders and of documents in each; write for example 100000x10", s)
	}
	if f < 1 || f > maxFolders || d < 0 || d > maxDocuments {
		return Shape{}, fmt.Errorf("%q is out of bounds: from 1 to %d folders with up to %d documents each", s, maxFolders, maxDocuments)
	}
	return Shape{Folders: f, Documents: d}, nil
}

// String implements fmt.Stringer.
func (s Shape) String() string { return fmt.Sprintf("%dx%d", s.Folders, s.Documents) }

// levels is how deep the tree is: mandators, areas, partners, years.
const levels = 4

// sizes are how many folders a whole one of each level is, with all below it.
func sizes() [levels]int {
	const partner = 1 + lastYear - firstYear + 1
	const area = 1 + partners*partner
	return [levels]int{1 + areas*area, area, partner, 1}
}

// place is where a folder lies: the ids of the folders above it and its own, and the place
// of each among its siblings.
type place struct {
	level int
	ids   [levels]archive.ID
	at    [levels]int
}

// place finds a folder, which must be one.
func (s Shape) place(id archive.ID) place {
	size := sizes()
	var p place
	rest, first := int(id)-1, archive.ID(1)
	for {
		p.at[p.level] = rest / size[p.level]
		p.ids[p.level] = first + archive.ID(p.at[p.level]*size[p.level])
		rest %= size[p.level]
		if rest == 0 {
			return p
		}
		rest--
		first = p.ids[p.level] + 1
		p.level++
	}
}

// end is the id after that of the last folder below the one in p.
func (s Shape) end(p place) archive.ID {
	return min(p.ids[p.level]+archive.ID(sizes()[p.level]), archive.ID(s.Folders)+1)
}

func (s Shape) hasFolder(id archive.ID) bool { return id >= 1 && id <= archive.ID(s.Folders) }

// first is the id of a folder's first document; its last is before the next folder's first.
func (s Shape) first(folder archive.ID) archive.ID {
	return (folder-1)*archive.ID(s.Documents) + 1
}

// folderOf returns the folder of a document, 0 when there is no document of that id.
func (s Shape) folderOf(document archive.ID) archive.ID {
	if document < 1 || document >= s.first(archive.ID(s.Folders)+1) {
		return 0
	}
	return (document-1)/archive.ID(s.Documents) + 1
}
