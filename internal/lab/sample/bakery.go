package main

import (
	"slices"
	"strconv"
	"time"
)

// bakeryFolders returns the mandator Bäckerei Körner, a small shop that scans most of
// its papers.
func bakeryFolders(c *clerk) folder {
	from := bakerySuppliers()
	return folder{name: c.company.name, folders: []folder{
		{name: "Rechnungen", entries: slices.Concat(
			c.invoicesOfYear(18, from, 2025), c.invoices(6, from, 2026, time.February))},
		deliveryFolder(c),
		{name: "Öffentlichkeit", entries: []entry{
			c.entry("Tageszettel Bäckertüte.txt", day(2025, time.May, 2), textSource(handbill()), "Werbung", "Aushang"),
			c.entry("Aushang Betriebsferien", day(2025, time.July, 11),
				textSource("Liebe Kundinnen und Kunden,\n\nvom 4. bis 24. August machen wir Betriebsferien.\n\nIhre Bäckerei Körner\n"),
				"Werbung", "Aushang"),
		}},
		{name: "Verträge", entries: []entry{
			c.agreement("Liefervertrag Mehl.pdf", "Rahmenliefervertrag Mehl", from[0].company, [2]string{"Lieferant", "Besteller"}, day(2022, time.September, 1), supplyTerms()),
			c.agreement("Wartungsvertrag Kälte.pdf", "Wartungsvertrag Kälteanlagen", from[2].company, [2]string{"Auftragnehmer", "Auftraggeber"}, day(2023, time.April, 18), serviceTerms()),
		}},
		{name: "Hygiene & Prüfungen", entries: hygieneEntries(c)},
	}}
}

// deliveryFolder holds scanned delivery notes.
func deliveryFolder(c *clerk) folder {
	f := folder{name: "Lieferscheine"}
	for i := range 16 {
		date := dayIn(c.rnd, 2025, time.Month(1+i%12))
		s := bakerySuppliers()[i%2]
		t, _ := c.trade(tradeDelivery, s, date)
		f.entries = append(f.entries, c.entry("Lieferschein "+s.category+" "+monthName(date.Month())+".jpg", date,
			jpegSource(t.paper(), c.rnd.Uint64()), "Lieferschein", "Wareneingang", s.category))
	}
	return f
}

// hygieneEntries are a temperature list of each quarter as a workbook, and a letter.
func hygieneEntries(c *clerk) []entry {
	var entries []entry
	for quarter := range 4 {
		first := day(2025, time.Month(1+3*quarter), 1)
		sh := sheet{
			name: "Kühlzelle", author: "Gülsüm Körner", date: first.AddDate(0, 3, 0),
			head: []string{"Tag", "Kühlzelle °C", "Gärraum °C", "Geprüft von"},
		}
		for d := range 90 {
			sh.rows = append(sh.rows, []any{
				germanDate(first.AddDate(0, 0, d)), 3 + float64(c.rnd.IntN(30))/10, 30 + float64(c.rnd.IntN(40))/10, "G. Körner",
			})
		}
		entries = append(entries, c.entry("Temperaturen Q"+strconv.Itoa(quarter+1)+" 2025.xlsx", sh.date,
			sheetSource(sh), "Tabelle", "Hygiene", "Eigenkontrolle"))
	}
	return append(entries, c.letter(offices()[0], topic{"Ergebnis der Lebensmittelkontrolle", []string{
		"bei der Kontrolle Ihrer Backstube wurden keine Mängel festgestellt, die Maßnahmen erfordern. Die Aufzeichnungen über Temperaturen und Reinigung lagen vollständig vor.",
		"Wir empfehlen, die Fugen im Bereich der Spüle bis zur nächsten Kontrolle zu erneuern.",
	}}, day(2025, time.October, 9), "im Auftrag Überschär"))
}

func handbill() string {
	return "Heute frisch:\n\n- Dinkel-Möhren-Brot, 750 g\n- Kürbiskernbrötchen\n- Rührkuchen mit Äpfeln\n- Süßes Stückchen zum Kaffee\n"
}
