package sample

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// clerk makes the entries of one company. What it makes is decided by its random
// stream and thereby by the order of the calls.
type clerk struct {
	rnd     *rand.Rand
	company company
	people  []string // who puts stamps and notes on the documents
	running int      // the last running number given
}

func newClerk(seed uint64, c company, people []string) *clerk {
	return &clerk{rnd: newRandom(seed), company: c, people: people, running: 1000}
}

// next returns a running number larger than all before.
func (c *clerk) next() int {
	c.running += 1 + c.rnd.IntN(9)
	return c.running
}

// entry returns a document that was made on a day, date, and archived within the four
// that follow.
func (c *clerk) entry(name string, date time.Time, content source, docType string, keywords ...string) entry {
	created := officeTime(c.rnd, date)
	archived := officeTime(c.rnd, date.AddDate(0, 0, 1+c.rnd.IntN(4)))
	return entry{
		Document: Document{
			Name:     name,
			Created:  created,
			Archived: archived,
			Keywords: keywords,
			Types:    []string{docType},
		},
		content: content,
	}
}

// file returns the content and the extension of p as it came in: most as a PDF, some
// on paper, which is scanned. Long papers are never scanned.
func (c *clerk) file(p paper, long bool) (content source, extension string) {
	seed, chance := c.rnd.Uint64(), c.rnd.IntN(100)
	switch {
	case long || chance < 68:
		return pdfSource(p), ".pdf"
	case chance < 80:
		return scannedPDFSource(p, seed), ".pdf"
	case chance < 92:
		return jpegSource(p, seed), ".jpg"
	default:
		return tiffSource(p, seed), ".tif"
	}
}

// trade returns a trade paper of s as of date.
func (c *clerk) trade(kind tradeKind, s supplier, date time.Time) (t trade, name string) {
	number, name := s.numbered(c.next(), date)
	t = trade{
		kind: kind, supplier: s, customer: c.company, number: number, date: date,
		items: newItems(c.rnd, s),
	}
	return t, name
}

// invoice returns an invoice of s with what accounting added to it.
func (c *clerk) invoice(s supplier, date time.Time) entry {
	const onePage = 20 // items that fit the first page
	t, name := c.trade(tradeInvoice, s, date)
	content, extension := c.file(t.paper(), len(t.items) > onePage)
	if s.bare {
		extension = ""
	}
	e := c.entry(name+extension, date, content, "Eingangsrechnung", "Rechnung", s.category)
	e.Metadata = t.metadata()
	if c.rnd.IntN(3) == 0 {
		e.ExternalID = fmt.Sprintf("ERP-%d-%05d", date.Year(), c.running)
	}
	e.AutoExport = c.rnd.IntN(5) == 0
	c.annotate(&e)
	return e
}

// annotate puts stamps and notes on some documents.
func (c *clerk) annotate(e *entry) {
	person := pick(c.rnd, c.people)
	date := e.Archived.AddDate(0, 0, 1).Format(time.DateTime)
	if c.rnd.IntN(6) == 0 {
		e.Stamps = append(e.Stamps, archive.Stamp{Title: "Geprüft", Text: "sachlich und rechnerisch richtig", Date: date, Creator: person})
	}
	if c.rnd.IntN(5) == 0 {
		e.Stamps = append(e.Stamps, archive.Stamp{Title: "Bezahlt", Text: "Bezahlt", Date: date, Creator: person})
	}
	if c.rnd.IntN(10) == 0 {
		text := pick(c.rnd, []string{
			"Skonto gezogen, 2 %.", "Menge mit Lieferschein abgeglichen.",
			"Rückfrage beim Lieferanten: Position 2 doppelt berechnet?", "Bitte auf zwei Kostenstellen aufteilen.",
		})
		e.Notes = append(e.Notes, archive.Note{Text: text, Date: date, Creator: person})
	}
}

// invoices returns the invoices of a month, each from another supplier as long as
// there are enough of them.
func (c *clerk) invoices(n int, from []supplier, year int, month time.Month) []entry {
	var entries []entry
	order := c.rnd.Perm(len(from))
	for i := range n {
		entries = append(entries, c.invoice(from[order[i%len(order)]], dayIn(c.rnd, year, month)))
	}
	return entries
}

// invoicesOfYear returns n invoices spread over the months of a year.
func (c *clerk) invoicesOfYear(n int, from []supplier, year int) []entry {
	var entries []entry
	for i := range n {
		month := time.Month(1 + i*12/n)
		entries = append(entries, c.invoice(pick(c.rnd, from), dayIn(c.rnd, year, month)))
	}
	return entries
}

// statements returns a bank statement for each month of a year.
func (c *clerk) statements(year int) []entry {
	var entries []entry
	for month := time.January; month <= time.December; month++ {
		p := statementPaper(c.rnd, c.company, year, month)
		name := fmt.Sprintf("Kontoauszug %d-%02d.pdf", year, int(month))
		entries = append(entries, c.entry(name, p.date, pdfSource(p), "Kontoauszug", "Bank", "Kontoauszug"))
	}
	return entries
}

// contract returns the contract ct as a document.
func (c *clerk) contract(name string, ct contract, keywords ...string) entry {
	return c.entry(name, ct.date, pdfSource(ct.paper()), "Vertrag", append([]string{"Vertrag"}, keywords...)...)
}

// agreement returns the contract of the clerk's company with another one.
func (c *clerk) agreement(name, title string, partner company, roles [2]string, date time.Time, terms []section) entry {
	return c.contract(name, contract{
		title: title, roles: roles, author: partner.name, date: date, terms: terms,
		parties: [2]string{partner.address(), c.company.address()},
	}, partner.name)
}

// letter returns a letter to the clerk's company that came in on paper or as a PDF.
func (c *clerk) letter(from company, about topic, date time.Time, signer string) entry {
	l := letter{
		from: from, to: c.company.address(), date: date, subject: about.subject,
		paragraphs: about.paragraphs, signer: signer,
	}
	content, extension := c.file(l.paper(), false)
	return c.entry(about.subject+extension, date, content, "Korrespondenz", "Brief", from.name)
}
