package sample

import "strings"

// company is an invented company, at an invented address.
type company struct {
	name   string
	street string
	city   string // with its post code
	domain string // of its mail addresses
}

// address returns the company as an address block.
func (c company) address() string { return c.name + "\n" + c.street + "\n" + c.city }

// town returns the city without its post code.
func (c company) town() string {
	_, town, _ := strings.Cut(c.city, " ")
	return town
}

// mailbox returns the address that mail to the company goes to.
func (c company) mailbox() string { return "post@" + c.domain }

func muster() company {
	return company{"Muster GmbH", "Hafenstraße 12", "00123 Musterstadt", "muster-gmbh.example"}
}

func bakery() company {
	return company{"Bäckerei Körner e.K.", "Am Mühlgraben 3", "00145 Süderbrück", "baeckerei-koerner.example"}
}

func bank() company {
	return company{"Sparbank Musterland eG", "Rathausplatz 1", "00123 Musterstadt", "sparbank.example"}
}

func landlord() company {
	return company{"Hallenverwaltung Öhmichen KG", "Kaistraße 40", "00123 Musterstadt", "oehmichen-hallen.example"}
}

func insurer() company {
	return company{"Feuersozietät Altenwörth VVaG", "Löschgasse 8", "00190 Altenwörth", "feuersoz.example"}
}

// customers are the companies that write to Muster GmbH and are written to.
func customers() []company {
	return []company{
		{"Möbelhaus Krähwinkler GmbH", "Parkallee 77", "00170 Neuhafen", "kraehwinkler.example"},
		{"Stadtwerke Süderbrück", "Brückenstraße 2", "00145 Süderbrück", "sw-suederbrueck.example"},
		{"Hotel Grüner Anker", "Uferweg 19", "00170 Neuhafen", "gruener-anker.example"},
		{"Ladenbau Schößler & Söhne OHG", "Industriering 5", "00190 Altenwörth", "schoessler.example"},
	}
}

// offices are the authorities that write to Muster GmbH.
func offices() []company {
	return []company{
		{"Stadt Musterstadt, Bauordnungsamt", "Rathausplatz 4", "00123 Musterstadt", "musterstadt.example"},
		{"Finanzamt Musterstadt", "Zollstraße 21", "00123 Musterstadt", "fa-musterstadt.example"},
		{"Berufsgenossenschaft Holz und Handel", "Lindenring 100", "00190 Altenwörth", "bg-holz-handel.example"},
	}
}
