package sample

import (
	"strconv"
	"strings"
	"time"
)

// supplier is a company that sends invoices.
type supplier struct {
	company
	category   string // keyword of its documents
	costCenter string
	vat        int // percent
	// number and file are patterns: {year}, {month} (its name), {n} (a running number)
	// and, in file, {number} are replaced.
	number, file string
	// bare documents come without an extension in their name.
	bare bool
	// most is the largest number of items of an invoice.
	most     int
	products []product
}

// product is something a supplier sells.
type product struct {
	name, unit string
	cents      int // net price of one unit
	most       int // largest quantity of an item
}

// numbered returns the supplier's n-th number in the year of date, and the name of
// the document without an extension.
func (s supplier) numbered(n int, date time.Time) (number, name string) {
	fill := []string{
		"{year}", strconv.Itoa(date.Year()),
		"{month}", monthName(date.Month()),
		"{n}", strconv.Itoa(n),
	}
	number = strings.NewReplacer(fill...).Replace(s.number)
	return number, strings.NewReplacer(append(fill, "{number}", number)...).Replace(s.file)
}

// officeSuppliers are the suppliers of Muster GmbH.
func officeSuppliers() []supplier {
	return []supplier{
		{
			company:  company{"Papierwaren Lindenblüth GmbH", "Bogenweg 9", "00170 Neuhafen", "lindenblueth.example"},
			category: "Bürobedarf", costCenter: "4100", vat: 19, most: 64,
			number: "LB-{year}-{n}", file: "Lindenblüth Rechnung {number}",
			products: []product{
				{"Kopierpapier A4, 80 g, weiß", "Karton", 2290, 20},
				{"Ordner, 80 mm, grün", "Stück", 189, 50},
				{"Hängeregistermappen", "Packung", 1545, 12},
				{"Kugelschreiber, blau", "Dutzend", 640, 10},
				{"Versandtaschen C4 mit Fenster", "Packung", 1180, 15},
				{"Etiketten 70 × 36 mm", "Packung", 1399, 8},
				{"Tonerkartusche, schwarz", "Stück", 8490, 6},
				{"Heftklammern 24/6", "Schachtel", 95, 40},
				{"Tischkalender", "Stück", 475, 30},
				{"Klebeband, braun", "Rolle", 129, 72},
			},
		},
		{
			company:  company{"Nordhang Energie eG", "Turbinenplatz 1", "00190 Altenwörth", "nordhang.example"},
			category: "Strom", costCenter: "4240", vat: 19, most: 3,
			number: "{year}{n}", file: "Stromrechnung {month} {year}",
			products: []product{
				{"Arbeitspreis Gewerbestrom", "kWh", 27, 9000},
				{"Grundpreis Zähler 7731", "Monat", 1450, 1},
				{"Netzentgelt", "kWh", 9, 9000},
			},
		},
		{
			company:  company{"Gebäudereinigung Weißfuß OHG", "Seifensiederweg 14", "00123 Musterstadt", "weissfuss.example"},
			category: "Reinigung", costCenter: "4250", vat: 19, most: 4,
			number: "{n}-5", file: "Rechnung {number}", bare: true,
			products: []product{
				{"Unterhaltsreinigung Büro", "Stunde", 2980, 60},
				{"Glasreinigung", "m²", 210, 180},
				{"Grundreinigung Halle Süd", "m²", 165, 640},
				{"Verbrauchsmaterial", "Pauschale", 4500, 1},
			},
		},
		{
			company:  company{"Systemhaus Böhmerle GmbH", "Datenallee 16", "00170 Neuhafen", "boehmerle.example"},
			category: "EDV", costCenter: "4360", vat: 19, most: 6,
			number: "RE{year}{n}", file: "{number}",
			products: []product{
				{"Fernwartung", "Stunde", 9800, 14},
				{"Arbeitsplatzrechner, 16 GB", "Stück", 84900, 5},
				{"Monitor 27 Zoll", "Stück", 23900, 6},
				{"Netzwerkkabel Cat 7, 5 m", "Stück", 890, 40},
				{"Lizenz Warenwirtschaft", "Platz", 1900, 24},
				{"Datensicherung, verschlüsselt", "Monat", 5900, 3},
			},
		},
		{
			company:  company{"Spedition Fährhaus & Töchter KG", "Containerstraße 50", "00170 Neuhafen", "faehrhaus.example"},
			category: "Fracht", costCenter: "4730", vat: 19, most: 7,
			number: "F{n}/{year}", file: "Frachtrechnung {month} {year}",
			products: []product{
				{"Stückgut bis 500 kg", "Sendung", 11800, 9},
				{"Teilladung Süderbrück", "Fahrt", 38500, 3},
				{"Palettentausch", "Stück", 450, 33},
				{"Standgeld", "Stunde", 6500, 4},
			},
		},
		{
			company:  company{"Elektro Grünspecht e.K.", "Am Umspannwerk 2", "00145 Süderbrück", "gruenspecht.example"},
			category: "Instandhaltung", costCenter: "4805", vat: 19, most: 6,
			number: "{year}-{n}", file: "Rechnung",
			products: []product{
				{"Monteurstunde", "Stunde", 6450, 18},
				{"LED-Hallenstrahler 150 W", "Stück", 17900, 12},
				{"Leitung NYM-J 5 × 2,5", "m", 245, 200},
				{"Prüfung ortsfester Anlagen", "Pauschale", 39000, 1},
				{"Anfahrt", "Pauschale", 4200, 2},
			},
		},
		{
			company:  company{"Autohaus Störrich GmbH", "Ringstraße 88", "00123 Musterstadt", "stoerrich.example"},
			category: "Fuhrpark", costCenter: "4530", vat: 19, most: 6,
			number: "W-{n}", file: "Werkstatt {number} MU-ST 42",
			products: []product{
				{"Inspektion nach Herstellervorgabe", "Pauschale", 28900, 1},
				{"Motoröl 5W-30", "Liter", 1690, 7},
				{"Bremsbeläge vorn", "Satz", 8750, 1},
				{"Winterreifen mit Montage", "Stück", 13900, 4},
				{"Arbeitswert", "AW", 1180, 24},
			},
		},
		{
			company:  company{"Kanzlei Dr. Oßmann-Thiele", "Schlossallee 7", "00123 Musterstadt", "ossmann-thiele.example"},
			category: "Beratung", costCenter: "4950", vat: 19, most: 4,
			number: "{n}-{year}", file: "Honorarrechnung {number}",
			products: []product{
				{"Finanzbuchführung", "Monat", 42000, 1},
				{"Lohnabrechnung", "Person", 1650, 23},
				{"Umsatzsteuer-Voranmeldung", "Monat", 9500, 1},
				{"Beratung", "Stunde", 14500, 5},
			},
		},
		{
			company:  company{"Hallenverwaltung Öhmichen KG", "Kaistraße 40", "00123 Musterstadt", "oehmichen-hallen.example"},
			category: "Miete, Nebenkosten", costCenter: "4210", vat: 19, most: 3,
			number: "M{year}-{n}", file: "Miete Lagerhalle {month} {year}",
			products: []product{
				{"Miete Lagerhalle Süd", "Monat", 365000, 1},
				{"Vorauszahlung Nebenkosten", "Monat", 48000, 1},
				{"Stellplatz", "Stück", 4500, 8},
			},
		},
	}
}

// bakerySuppliers are the suppliers of Bäckerei Körner.
func bakerySuppliers() []supplier {
	return []supplier{
		{
			company:  company{"Mühle Hägelin GmbH & Co. KG", "Mühlbach 1", "00145 Süderbrück", "muehle-haegelin.example"},
			category: "Mehl", costCenter: "3010", vat: 7, most: 8,
			number: "{n}/{year}", file: "Mehlrechnung {month} {year}",
			products: []product{
				{"Weizenmehl Type 550", "Sack 25 kg", 1790, 60},
				{"Roggenmehl Type 1150", "Sack 25 kg", 1680, 40},
				{"Dinkelvollkornmehl", "Sack 25 kg", 2940, 15},
				{"Kürbiskerne", "Sack 10 kg", 5490, 4},
				{"Röstmalz", "Sack 10 kg", 2150, 3},
			},
		},
		{
			company:  company{"Molkerei Wiesengrün eG", "Rahmweg 20", "00190 Altenwörth", "wiesengruen.example"},
			category: "Milch und Käse", costCenter: "3020", vat: 7, most: 6,
			number: "R{n}", file: "Wiesengrün {number}",
			products: []product{
				{"Süßrahmbutter", "Block 10 kg", 7650, 12},
				{"Frischmilch 3,5 %", "Kanister 10 l", 1120, 30},
				{"Schlagsahne 30 %", "Eimer 5 l", 1990, 14},
				{"Speisequark, mager", "Eimer 5 kg", 1240, 18},
			},
		},
		{
			company:  company{"Kältetechnik Jägersfeld GmbH", "Frostgasse 11", "00170 Neuhafen", "jaegersfeld.example"},
			category: "Instandhaltung", costCenter: "4805", vat: 19, most: 5,
			number: "{n}-7", file: "Rechnung {number}", bare: true,
			products: []product{
				{"Wartung Gärunterbrecher", "Pauschale", 18900, 1},
				{"Kältemittel R290", "kg", 4800, 3},
				{"Monteurstunde", "Stunde", 6900, 8},
				{"Türdichtung Kühlzelle", "Stück", 7450, 2},
			},
		},
	}
}
