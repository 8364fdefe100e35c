package main

import (
	"fmt"
	"strconv"
	"time"
)

// musterFolders returns the mandator Muster GmbH, a trading company.
func musterFolders(c *clerk) folder {
	return folder{name: c.company.name, folders: []folder{
		invoiceFolders(c),
		quotationFolder(c),
		contractFolders(c),
		correspondenceFolders(c),
		bankFolders(c),
		projectFolders(c),
		{name: "Zu prüfen"},
	}}
}

// invoiceFolders holds the invoices by year, the latest years also by month.
func invoiceFolders(c *clerk) folder {
	from := officeSuppliers()
	return folder{name: "Rechnungen", folders: []folder{
		{name: "2023", entries: c.invoicesOfYear(22, from, 2023)},
		{name: "2024", entries: c.invoicesOfYear(30, from, 2024)},
		invoiceYear(c, 2025, time.December, 6),
		invoiceYear(c, 2026, time.March, 6),
	}}
}

// invoiceYear holds n invoices in a folder for each month of a year, up to last.
func invoiceYear(c *clerk, year int, last time.Month, n int) folder {
	f := folder{name: strconv.Itoa(year)}
	for month := time.January; month <= last; month++ {
		f.folders = append(f.folders, folder{
			name:    monthFolder(month),
			entries: c.invoices(n, officeSuppliers(), year, month),
		})
	}
	return f
}

// quotationFolder holds quotations, one of them with a slash in its name, and the
// price list as a workbook.
func quotationFolder(c *clerk) folder {
	f := folder{name: "Angebote"}
	for i, s := range officeSuppliers() {
		date := dayIn(c.rnd, 2024, time.Month(4+i))
		t, _ := c.trade(tradeQuotation, s, date)
		name := fmt.Sprintf("Angebot %d/%d.pdf", int(date.Month()), date.Year())
		if i%2 == 1 {
			name = "Angebot " + s.category + ".pdf"
		}
		f.entries = append(f.entries, c.entry(name, date, pdfSource(t.paper()), "Angebot", "Angebot", s.category))
	}
	date := day(2025, time.January, 7)
	f.entries = append(f.entries, c.entry("Preisvergleich Büromöbel 2025.xlsx", date,
		sheetSource(priceSheet(date, officeSuppliers()[0])), "Tabelle", "Einkauf", "Preise"))
	return f
}

// priceSheet returns a workbook with the products of s.
func priceSheet(date time.Time, s supplier) sheet {
	sh := sheet{
		name: "Preise " + strconv.Itoa(date.Year()), author: "Erika Mustermann", date: date,
		head: []string{"Artikel", "Einheit", "Menge", "Einzelpreis", "Betrag"}, sums: []int{4},
	}
	for _, p := range s.products {
		i := item{product: p, quantity: p.most}
		sh.rows = append(sh.rows, []any{p.name, p.unit, p.most, float64(p.cents) / 100, float64(i.total()) / 100})
	}
	return sh
}

// contractFolders holds the contracts, of several pages each.
func contractFolders(c *clerk) folder {
	lease := [2]string{"Vermieter", "Mieter"}
	service := [2]string{"Auftragnehmer", "Auftraggeber"}
	supply := [2]string{"Lieferant", "Besteller"}
	s := officeSuppliers()
	maintenance := folder{name: "Wartung & Service"}
	for i, partner := range []supplier{s[3], s[5], s[2]} {
		date := dayIn(c.rnd, 2020+i, time.May)
		maintenance.entries = append(maintenance.entries, c.agreement(
			"Wartungsvertrag "+partner.category+".pdf", "Wartungsvertrag "+partner.category, partner.company, service, date, serviceTerms()))
	}
	supplies := folder{name: "Lieferanten"}
	for i, partner := range []supplier{s[0], s[1], s[4], s[6]} {
		date := dayIn(c.rnd, 2019+i, time.October)
		supplies.entries = append(supplies.entries, c.agreement(
			"Rahmenvertrag "+partner.name, "Rahmenvertrag über Lieferungen und Leistungen", partner.company, supply, date, supplyTerms()))
	}
	return folder{name: "Verträge", folders: []folder{
		{name: "Miete und Leasing", entries: []entry{
			c.agreement("Mietvertrag Lagerhalle Süd.pdf", "Gewerbemietvertrag", landlord(), lease, day(2018, time.June, 14), leaseTerms()),
			c.agreement("Mietvertrag Büroetage.pdf", "Gewerbemietvertrag", landlord(), lease, day(2021, time.March, 2), leaseTerms()),
			c.agreement("1. Nachtrag zum Mietvertrag.pdf", "1. Nachtrag zum Gewerbemietvertrag", landlord(), lease, day(2024, time.November, 20), leaseTerms()[2:]),
		}},
		maintenance,
		supplies,
		{name: "Versicherungen", entries: []entry{
			c.agreement("Feuerversicherung Vertragsbedingungen.pdf", "Versicherungsvertrag Feuer und Leitungswasser", insurer(), [2]string{"Versicherer", "Versicherungsnehmer"}, day(2019, time.January, 3), serviceTerms()[1:]),
			c.letter(insurer(), topic{"Beitragsrechnung Gebäudeversicherung", []string{
				"der Jahresbeitrag ist zum 1. Januar fällig. Die Versicherungssumme wurde dem gleitenden Neuwert angepasst.",
			}}, day(2025, time.November, 27), "i. A. Mühlhäuser"),
		}},
	}}
}

// correspondenceFolders holds letters and e-mails of customers and authorities.
func correspondenceFolders(c *clerk) folder {
	buyers := folder{name: "Kunden"}
	topics := customerTopics()
	for i := range 12 {
		from, about := customers()[i%4], topics[i%len(topics)]
		date := dayIn(c.rnd, 2024+i/6, time.Month(1+i%6*2))
		with := c.letterAttachment(from, about, date)
		if i%4 == 0 {
			with = c.photoAttachment(officeSuppliers()[3], date)
		}
		buyers.entries = append(buyers.entries, c.email(about.subject+".eml", from, about, date, with))
		if i%3 == 0 {
			buyers.entries = append(buyers.entries, c.letter(from, about, date, "ppa. Höllriegel"))
		}
	}
	public := folder{name: "Behörden & Ämter"}
	for year := 2023; year <= 2025; year++ {
		for i, from := range offices() {
			public.entries = append(public.entries,
				c.letter(from, officeTopics()[i], dayIn(c.rnd, year, time.Month(3+3*i)), "im Auftrag Überschär"))
		}
	}
	note := "Telefonnotiz\n\nAnruf von: Hotel Grüner Anker, Frau Söhnlein\nAm: 04.03.2025, 10:20 Uhr\n" +
		"Für: Jürgen Großkötter\n\nBittet um Rückruf wegen der Maße für die Rezeption (Tür ist 92 cm, nicht 98 cm).\n"
	return folder{name: "Korrespondenz", folders: []folder{buyers, public}, entries: []entry{
		c.entry("Telefonnotiz 04.03.2025.txt", day(2025, time.March, 4), textSource(note), "Notiz", "Telefon"),
		c.entry("Verteilerliste Weihnachtspost.csv", day(2025, time.November, 24), csvSource(addressList()), "Liste", "Adressen"),
	}}
}

// addressList returns the customers as records, with a header.
func addressList() [][]string {
	records := [][]string{{"Firma", "Straße", "Ort", "E-Mail"}}
	for _, to := range customers() {
		records = append(records, []string{to.name, to.street, to.city, to.mailbox()})
	}
	return records
}

// bankFolders holds the statements of a year and a workbook of the year's costs.
func bankFolders(c *clerk) folder {
	date := day(2026, time.January, 16)
	costs := sheet{
		name: "Übersicht", author: "Aylin Öztan-Weiß", date: date,
		head: []string{"Monat", "Kostenstelle", "Bezeichnung", "Plan", "Ist"}, sums: []int{3, 4},
	}
	for month := time.January; month <= time.December; month++ {
		for _, s := range officeSuppliers() {
			expected := 800 + c.rnd.IntN(4000)
			actual := float64(expected*(80+c.rnd.IntN(40))) / 100
			costs.rows = append(costs.rows, []any{monthName(month), s.costCenter, s.category, expected, actual})
		}
	}
	return folder{name: "Bank", folders: []folder{
		{name: "Kontoauszüge 2025", entries: c.statements(2025)},
	}, entries: []entry{
		c.entry("Kostenstellen 2025.xlsx", date, sheetSource(costs), "Tabelle", "Auswertung", "Kostenstellen"),
	}}
}

// projectFolders holds the papers of a building project: minutes, one of them with a
// name longer than the 255 bytes that a file name may have, and delivery notes.
func projectFolders(c *clerk) folder {
	const long = "Protokoll der Besprechung über die Lüftungs-, Kälte- und Wärmerückgewinnungsanlagen, " +
		"die Überprüfung der Rückstände aus der Übergabe, die Ausführung der Tür- und Toröffnungen sowie " +
		"die Änderung der Zuständigkeiten für Gerüst, Kräne und Schlüsselübergabe.pdf"
	records := folder{name: "Protokolle"}
	for i := range 6 {
		date := dayIn(c.rnd, 2025, time.Month(2+i))
		p := minutesPaper(c.rnd, c.company, fmt.Sprintf("Umbau Lagerhalle Süd, %d. Sitzung", i+1), date, 4+i%3)
		name := fmt.Sprintf("Protokoll %d. Sitzung.pdf", i+1)
		if i == 5 {
			name = long
		}
		records.entries = append(records.entries, c.entry(name, date, pdfSource(p), "Protokoll", "Umbau", "Lagerhalle Süd"))
	}
	notes := folder{name: "Lieferscheine"}
	for i := range 5 {
		date := dayIn(c.rnd, 2025, time.Month(4+i))
		t, _ := c.trade(tradeDelivery, officeSuppliers()[5], date)
		notes.entries = append(notes.entries, c.entry(fmt.Sprintf("LS %s.TIF", t.number), date,
			tiffSource(t.paper(), c.rnd.Uint64()), "Lieferschein", "Umbau", "Lieferschein"))
	}
	return folder{name: "Projekte", folders: []folder{
		{name: "Umbau Lagerhalle Süd", folders: []folder{records, notes}},
	}}
}
