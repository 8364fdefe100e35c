package generated

import "strconv"

// How the tree is made up.
const (
	areas     = 16
	partners  = 48
	firstYear = 2014
	lastYear  = 2025
)

// area is what the documents in a folder are about.
type area struct {
	folder, document string // what they and one of them are called
	keywords         string // of one, in JSON
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

// names are the words that folders are called by. They are made once, so that a hundred
// thousand folders share them.
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

// of is what the folder in p is called.
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
