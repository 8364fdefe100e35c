package generated

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// The limits of a shape: a client gets all folders in one answer.
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
		return Shape{}, fmt.Errorf("%q is not FOLDERSxDOCUMENTS; write for example 100000x10", s)
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

// sizes are the numbers of folders in a full subtree, by the level of its root.
func sizes() [levels]int {
	const partner = 1 + lastYear - firstYear + 1
	const area = 1 + partners*partner
	return [levels]int{1 + areas*area, area, partner, 1}
}

// place is the position of a folder: the ids on the path to it, its own last, and the position of each
// among its siblings.
type place struct {
	level int
	ids   [levels]archive.ID
	at    [levels]int
}

// place finds a folder, which must exist.
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

// end is the id after the last folder of the subtree of p.
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

// The branching of the tree.
const (
	areas     = 16
	partners  = 48
	firstYear = 2014
	lastYear  = 2025
)

// area is the subject of the documents in a folder.
type area struct {
	folder, document string // their names
	keywords         string // of a document, in JSON
}

func areaNames() [areas]area {
	return [areas]area{
		{"Rechnungen", "Rechnung", `["Rechnung","Buchhaltung"]`},
		{"Verträge", "Vertrag", `["Vertrag"]`},
		{"Angebote", "Angebot", `["Angebot","Vertrieb"]`},
		{"Lieferscheine", "Lieferschein", `["Lieferschein"]`},
		{"Schriftverkehr", "Brief", `["Brief"]`},
		{"Protokolle", "Protokoll", `["Protokoll","intern"]`},
		{"Bank", "Kontoauszug", `["Kontoauszug","Buchhaltung"]`},
		{"Steuern", "Bescheid", `["Bescheid","Finanzamt"]`},
		{"Versicherungen", "Police", `["Police"]`},
		{"Gutachten", "Gutachten", `["Gutachten"]`},
		{"Pläne", "Plan", `["Plan","Technik"]`},
		{"Berichte", "Bericht", `["Bericht","intern"]`},
		{"Mahnungen", "Mahnung", `["Mahnung","Buchhaltung"]`},
		{"Gutschriften", "Gutschrift", `["Gutschrift","Buchhaltung"]`},
		{"Aufträge", "Auftrag", `["Auftrag","Vertrieb"]`},
		{"Personal", "Zeugnis", `["Zeugnis","vertraulich"]`},
	}
}

// families and forms make up the names of partners and mandators.
func families() [12]string {
	return [...]string{
		"Albrecht", "Bäcker", "Dietrich", "Engel", "Fuchs", "Günther",
		"Hartmann", "Jäger", "König", "Lehmann", "Möller", "Schäfer",
	}
}

func forms() [4]string { return [...]string{"GmbH", "KG", "AG", "& Söhne"} }

// names are the names of folders, made once and shared by all folders.
type names struct {
	areas    [areas]area
	partners [partners]string
	years    [lastYear - firstYear + 1]string
}

func newNames() *names {
	n := &names{areas: areaNames()}
	for i := range n.partners {
		n.partners[i] = families()[i%12] + " " + forms()[i/12]
	}
	for i := range n.years {
		n.years[i] = strconv.Itoa(firstYear + i)
	}
	return n
}

// of is the name of the folder at p.
func (n *names) of(p place) string {
	at := p.at[p.level]
	switch p.level {
	case 0:
		return "Mandant " + strconv.Itoa(at+1) + " " + families()[at%12] + " " + forms()[at/12%4]
	case 1:
		return n.areas[at].folder
	case 2:
		return n.partners[at]
	}
	return n.years[at]
}
