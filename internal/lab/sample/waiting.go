package main

import (
	"fmt"
	"time"
)

// waitingDocuments returns the inboxes with the documents of March 2026, which are not yet archived.
func waitingDocuments(c *clerk) []inbox {
	inboxes := []inbox{
		{userID: 1, name: "Administrator", entries: administratorMail(c)},
		{userID: 2, name: "Erika Mustermann", entries: clerkMail(c)},
		{userID: 3, name: "Scanner Empfang", entries: scannerOutput(c)},
	}
	for _, in := range inboxes {
		for i := range in.entries {
			in.entries[i].Archived = time.Time{}
		}
	}
	return inboxes
}

// administratorMail returns four scans, an invoice and an e-mail.
func administratorMail(c *clerk) []entry {
	date := day(2026, time.March, 17)
	lease := contract{
		title: "Untermietvertrag Lagerfläche", author: c.company.name, date: date, terms: leaseTerms(),
		parties: [2]string{c.company.address(), customers()[3].address()},
		roles:   [2]string{"Vermieter", "Mieter"},
	}
	var entries []entry
	for i, p := range []paper{
		minutesPaper(c.rnd, c.company, "Abnahme Lagerhalle Süd", date, 3),
		lease.paper(),
		statementPaper(c.rnd, c.company, 2026, time.February),
		minutesPaper(c.rnd, c.company, "Inventur", date, 4),
	} {
		entries = append(entries, c.entry(fmt.Sprintf("scan-%04d.pdf", i+1), date.AddDate(0, 0, i),
			scannedPDFSource(p, c.rnd.Uint64()), "Scan"))
	}
	date = day(2026, time.March, 20)
	t, name := c.trade(tradeInvoice, officeSuppliers()[0], date)
	about, from := customerTopics()[0], customers()[2]
	return append(entries,
		c.entry(name+".pdf", date, pdfSource(t.paper()), "Eingangsrechnung"),
		c.email("WG: "+about.subject+".eml", from, about, date, c.letterAttachment(from, about, date)))
}

// clerkMail returns invoices and other mail that one person has to check.
func clerkMail(c *clerk) []entry {
	var entries []entry
	for i, s := range officeSuppliers()[1:4] {
		date := day(2026, time.March, 23+i)
		t, name := c.trade(tradeInvoice, s, date)
		extension := ".pdf"
		if s.bare {
			extension = ""
		}
		e := c.entry(name+extension, date, pdfSource(t.paper()), "Eingangsrechnung", "zu prüfen")
		e.Metadata = t.metadata()
		entries = append(entries, e)
	}
	date := day(2026, time.March, 26)
	return append(entries,
		c.letter(offices()[1], officeTopics()[1], date, "im Auftrag Überschär"),
		c.entry("Rückruf Süderbrück.txt", date, textSource("Herr Lüdecke bittet um Rückruf, Zählerstände fehlen.\n"), "Notiz"))
}

// scannerOutput returns pages with the names that a scanner gives them; two have the
// same name.
func scannerOutput(c *clerk) []entry {
	var entries []entry
	for i := range 6 {
		date := day(2026, time.March, 25+i)
		t, _ := c.trade(tradeDelivery, officeSuppliers()[5-i%2], date)
		content, extension := jpegSource(t.paper(), c.rnd.Uint64()), ".jpg"
		if i%3 == 2 {
			content, extension = tiffSource(t.paper(), c.rnd.Uint64()), ".tif"
		}
		name := fmt.Sprintf("Scan %s%s", date.Format(time.DateOnly), extension)
		if i < 2 {
			name = "Unbenannt" + extension
		}
		entries = append(entries, c.entry(name, date, content, "Scan"))
	}
	return entries
}
