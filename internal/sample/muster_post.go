package sample

import (
	"fmt"
	"time"
)

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

// addressList returns the customers as records, with a head.
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
