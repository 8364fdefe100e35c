package main

import (
	"strconv"
	"strings"
	"time"
)

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

// customers are the customers of Muster GmbH.
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

// supplier is a company that sends invoices.
type supplier struct {
	company
	category   string // keyword of its documents
	costCenter string
	vat        int // percent
	// number and file are patterns: {year}, {month} (its name), {n} (a running number)
	// and, in file, {number} are replaced.
	number, file string
	// bare says that the names of documents have no extension.
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

// leaseTerms are the terms of a lease of business premises.
func leaseTerms() []section {
	return []section{
		{"Mietgegenstand", []string{
			"(1) Vermietet werden die im beigefügten Lageplan gekennzeichneten Flächen nebst Rampe, Tor und den zugehörigen Stellplätzen. Der Lageplan ist Bestandteil dieses Vertrags.",
			"(2) Der Mieter hat den Mietgegenstand besichtigt und übernimmt ihn in dem Zustand, den das Übergabeprotokoll ausweist. Darin aufgeführte Mängel beseitigt der Vermieter binnen acht Wochen nach Übergabe.",
			"(3) Änderungen der Nutzung bedürfen der vorherigen Zustimmung des Vermieters in Textform. Behördliche Genehmigungen, die allein den Betrieb des Mieters betreffen, holt dieser auf eigene Kosten ein.",
		}},
		{"Mietzeit", []string{
			"(1) Das Mietverhältnis beginnt mit dem ersten Tag des auf die Unterzeichnung folgenden Monats und wird auf fünf Jahre fest geschlossen.",
			"(2) Es verlängert sich um jeweils ein Jahr, wenn es nicht mit einer Frist von sechs Monaten zum Ablauf gekündigt wird. Eine stillschweigende Fortsetzung durch bloßen Gebrauch ist ausgeschlossen.",
		}},
		{"Miete und Nebenkosten", []string{
			"(1) Die Miete ist monatlich im Voraus, spätestens am dritten Werktag, kostenfrei zu zahlen. Für die Rechtzeitigkeit kommt es auf den Eingang des Geldes an.",
			"(2) Neben der Miete trägt der Mieter die Betriebskosten nach der Betriebskostenverordnung, namentlich Grundsteuer, Wasser, Entwässerung, Straßenreinigung, Versicherung und Hausmeister. Hierauf leistet er monatliche Vorauszahlungen, über die jährlich abgerechnet wird.",
			"(3) Steigt der Verbraucherpreisindex gegenüber dem Stand bei Vertragsbeginn um mehr als fünf vom Hundert, so ändert sich die Miete im gleichen Verhältnis vom Beginn des nächsten Kalenderjahres an.",
		}},
		{"Erhaltung und Schönheitsreparaturen", []string{
			"(1) Der Mieter behandelt den Mietgegenstand pfleglich, hält Tore, Rolltore und Rampen gangbar und lässt die dem Mietgebrauch unterliegenden Anlagen jährlich warten. Nachweise sind dem Vermieter auf Verlangen vorzulegen.",
			"(2) Dach und Fach erhält der Vermieter. Schäden zeigt der Mieter unverzüglich an; unterlässt er dies, so haftet er für den daraus entstehenden Nachteil.",
		}},
	}
}

// serviceTerms are the terms of a maintenance agreement.
func serviceTerms() []section {
	return []section{
		{"Gegenstand der Wartung", []string{
			"(1) Der Auftragnehmer wartet die in der Anlage aufgeführten Geräte und Einrichtungen nach den anerkannten Regeln der Technik und den Vorgaben der Hersteller.",
			"(2) Zur Wartung gehören Sichtprüfung, Reinigung, Funktionsprüfung, Messung der sicherheitsrelevanten Werte sowie der Austausch von Verschleißteilen mit einem Einzelwert bis 50 EUR. Weitergehende Instandsetzungen werden gesondert beauftragt.",
		}},
		{"Termine und Reaktionszeiten", []string{
			"(1) Die Wartung findet zweimal im Kalenderjahr statt. Der Termin wird mindestens zehn Werktage zuvor abgestimmt; der Auftraggeber sorgt für freien Zugang.",
			"(2) Bei Störungen, die den Betrieb zum Stillstand bringen, beginnt der Auftragnehmer werktags zwischen 7 und 18 Uhr innerhalb von vier Stunden, sonst am folgenden Werktag mit der Fehlersuche.",
			"(3) Verzögert sich der Einsatz aus Gründen, die der Auftraggeber zu vertreten hat, so verlängern sich die Fristen entsprechend.",
		}},
		{"Vergütung", []string{
			"(1) Für die Wartung wird eine jährliche Pauschale vereinbart, die zu Beginn des Vertragsjahres in Rechnung gestellt wird. Anfahrten zur planmäßigen Wartung sind darin enthalten.",
			"(2) Störungseinsätze werden nach Aufwand zu den jeweils gültigen Stundensätzen abgerechnet. Über jeden Einsatz wird ein Arbeitsbericht geführt, den der Auftraggeber gegenzeichnet.",
		}},
		{"Dokumentation", []string{
			"Der Auftragnehmer führt für jede Anlage ein Prüfbuch und übergibt nach jeder Wartung ein Protokoll in elektronischer Form. Mängel werden nach Dringlichkeit eingestuft; bei Gefahr im Verzug legt er die Anlage still und unterrichtet den Auftraggeber sofort.",
		}},
	}
}

// supplyTerms are the terms of a framework agreement on supplies.
func supplyTerms() []section {
	return []section{
		{"Gegenstand und Abrufe", []string{
			"(1) Der Lieferant liefert die in der Preisliste bezeichneten Waren auf Abruf. Abrufe erfolgen in Textform und gelten als angenommen, wenn ihnen nicht binnen zwei Werktagen widersprochen wird.",
			"(2) Eine Abnahmepflicht besteht nur für die im Jahresplan bestätigten Mengen. Abweichungen bis zu zehn vom Hundert sind zulässig.",
		}},
		{"Lieferung und Gefahrübergang", []string{
			"(1) Geliefert wird frei Haus an die vom Besteller benannte Anlieferstelle. Die Gefahr geht mit der Übergabe an der Rampe über.",
			"(2) Jeder Lieferung liegt ein Lieferschein bei, der Bestellnummer, Artikel, Menge und Charge nennt. Fehlt er, so verlängert sich die Zahlungsfrist um die Dauer der Klärung.",
		}},
		{"Preise und Zahlung", []string{
			"(1) Die Preise gelten für zwölf Monate. Änderungen werden mit einer Frist von drei Monaten angekündigt und begründet.",
			"(2) Rechnungen werden als elektronisches Dokument gestellt. Sie sind binnen 30 Tagen netto, binnen 10 Tagen mit zwei vom Hundert Skonto zahlbar.",
		}},
		{"Mängel und Rückruf", []string{
			"(1) Offensichtliche Mängel rügt der Besteller binnen fünf Werktagen nach Eingang, verdeckte unverzüglich nach ihrer Entdeckung.",
			"(2) Der Lieferant hält ein System zur Rückverfolgung der Chargen vor und trägt die Kosten eines Rückrufs, soweit dieser auf einem Mangel seiner Ware beruht.",
		}},
	}
}

// closingTerms end every contract.
func closingTerms() []section {
	return []section{
		{"Haftung", []string{
			"(1) Die Parteien haften unbeschränkt bei Vorsatz und grober Fahrlässigkeit sowie für Schäden aus der Verletzung des Lebens, des Körpers oder der Gesundheit.",
			"(2) Bei leicht fahrlässiger Verletzung einer wesentlichen Vertragspflicht ist die Haftung auf den vertragstypischen, vorhersehbaren Schaden begrenzt. Im Übrigen ist sie ausgeschlossen.",
		}},
		{"Datenschutz und Aufbewahrung", []string{
			"(1) Personenbezogene Daten werden nur verarbeitet, soweit es zur Durchführung dieses Vertrags erforderlich ist.",
			"(2) Unterlagen, die nach Handels- oder Steuerrecht aufzubewahren sind, werden in einem revisionssicheren Archiv abgelegt und nach Ablauf der Fristen gelöscht.",
		}},
		{"Abtretung und Aufrechnung", []string{
			"(1) Rechte und Pflichten aus diesem Vertrag dürfen nur mit vorheriger Zustimmung der anderen Partei übertragen werden. Die Zustimmung darf nicht ohne sachlichen Grund verweigert werden.",
			"(2) Aufgerechnet werden kann nur mit unbestrittenen oder rechtskräftig festgestellten Forderungen. Ein Zurückbehaltungsrecht besteht nur wegen Ansprüchen aus demselben Vertrag.",
		}},
		{"Höhere Gewalt", []string{
			"(1) Ereignisse, die keine Partei zu vertreten hat und die auch mit äußerster Sorgfalt nicht abgewendet werden können, befreien für ihre Dauer von den betroffenen Pflichten. Dazu zählen Hochwasser, Feuer, Stromausfall, behördliche Anordnungen und Arbeitskämpfe in fremden Betrieben.",
			"(2) Die betroffene Partei zeigt Beginn und voraussichtliches Ende an. Dauert das Ereignis länger als drei Monate, so kann jede Partei den Vertrag mit einer Frist von zwei Wochen auflösen.",
		}},
		{"Mitteilungen", []string{
			"Mitteilungen sind an die im Eingang genannten Anschriften zu richten. Soweit nichts anderes bestimmt ist, genügt Textform. Änderungen der Anschrift, der Bankverbindung und der Ansprechpartner werden unverzüglich bekannt gegeben; bis dahin gilt eine Mitteilung an die bisherige Anschrift als zugegangen.",
		}},
		{"Kündigung aus wichtigem Grund", []string{
			"Das Recht zur Kündigung aus wichtigem Grund bleibt unberührt. Ein wichtiger Grund liegt insbesondere vor, wenn eine Partei ihre Zahlungen einstellt oder eine wesentliche Pflicht trotz Abmahnung mit angemessener Frist weiter verletzt. Jede Kündigung bedarf der Schriftform.",
		}},
		{"Schlussbestimmungen", []string{
			"(1) Mündliche Nebenabreden bestehen nicht. Änderungen und Ergänzungen bedürfen der Schriftform; dies gilt auch für die Aufhebung dieser Klausel.",
			"(2) Ist eine Bestimmung unwirksam oder undurchführbar, so bleibt der Vertrag im Übrigen bestehen. An ihre Stelle tritt eine Regelung, die dem wirtschaftlich Gewollten am nächsten kommt.",
			"(3) Erfüllungsort und, soweit zulässig, Gerichtsstand ist Musterstadt. Jede Partei erhält eine Ausfertigung.",
		}},
	}
}
