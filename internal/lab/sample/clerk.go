package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/emersion/go-message/mail"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/sample"
)

// clerk makes the entries of one company. What it makes is decided by its random
// stream and thereby by the order of the calls.
type clerk struct {
	rnd     *rand.Rand
	company company
	people  []string // who puts stamps and notes on the documents
	running int      // the last running number
}

func newClerk(seed uint64, c company, people []string) *clerk {
	return &clerk{rnd: newRandom(seed), company: c, people: people, running: 1000}
}

// next returns a running number larger than all before.
func (c *clerk) next() int {
	c.running += 1 + c.rnd.IntN(9)
	return c.running
}

// entry returns a document that was created on date and archived one to four days later.
func (c *clerk) entry(name string, date time.Time, content source, docType string, keywords ...string) entry {
	created := officeTime(c.rnd, date)
	archived := officeTime(c.rnd, date.AddDate(0, 0, 1+c.rnd.IntN(4)))
	return entry{
		Document: sample.Document{
			Name:     name,
			Created:  created,
			Archived: archived,
			Keywords: keywords,
			Types:    []string{docType},
		},
		content: content,
	}
}

// file returns p as a file, with its extension: usually a PDF with text, otherwise a scan. Long
// papers are never scanned.
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

// trade returns a trade paper of s and the name of its document.
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

// invoices returns n invoices of a month. No supplier repeats before each has had a turn.
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

// agreement returns a contract between the clerk's company and a partner.
func (c *clerk) agreement(name, title string, partner company, roles [2]string, date time.Time, terms []section) entry {
	return c.contract(name, contract{
		title: title, roles: roles, author: partner.name, date: date, terms: terms,
		parties: [2]string{partner.address(), c.company.address()},
	}, partner.name)
}

// letter returns a letter to the clerk's company, scanned or as a PDF.
func (c *clerk) letter(from company, about topic, date time.Time, signer string) entry {
	l := letter{
		from: from, to: c.company.address(), date: date, subject: about.subject,
		paragraphs: about.paragraphs, signer: signer,
	}
	content, extension := c.file(l.paper(), false)
	return c.entry(about.subject+extension, date, content, "Korrespondenz", "Brief", from.name)
}

// email returns an e-mail to the clerk's company, with an attachment.
func (c *clerk) email(name string, from company, about topic, date time.Time, with attachment) entry {
	at := officeTime(c.rnd, date)
	m := mailMessage{
		from:    mail.Address{Name: from.name, Address: from.mailbox()},
		to:      mail.Address{Name: c.company.name, Address: c.company.mailbox()},
		date:    at,
		subject: about.subject,
		text: "Sehr geehrte Damen und Herren,\n\n" + strings.Join(about.paragraphs, "\n\n") +
			"\n\nMit freundlichen Grüßen\n" + from.name,
		attachments: []attachment{with},
	}
	e := c.entry(name, date, mailSource(m), "Korrespondenz", "E-Mail", from.name)
	e.Created = at
	return e
}

// letterAttachment returns a letter about the topic as a PDF attachment.
func (c *clerk) letterAttachment(from company, about topic, date time.Time) attachment {
	p := letter{
		from: from, to: c.company.address(), date: date, subject: about.subject,
		paragraphs: about.paragraphs, signer: "Geschäftsleitung",
	}.paper()
	return attachment{name: about.subject + ".pdf", contentType: "application/pdf", content: pdfSource(p)}
}

// photoAttachment returns a scanned delivery note of s as a JPEG attachment.
func (c *clerk) photoAttachment(s supplier, date time.Time) attachment {
	t, _ := c.trade(tradeDelivery, s, date)
	return attachment{
		name: "Lieferschein " + t.number + ".jpg", contentType: "image/jpeg",
		content: jpegSource(t.paper(), c.rnd.Uint64()),
	}
}

// germanDate returns the date as in a letter, "14.03.2025".
func germanDate(t time.Time) string { return t.Format("02.01.2006") }

// monthName returns the German name of a month.
func monthName(m time.Month) string {
	return [...]string{
		"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August",
		"September", "Oktober", "November", "Dezember",
	}[m-1]
}

// monthFolder returns the name of a month's folder, "03-Mrz".
func monthFolder(m time.Month) string {
	short := [...]string{
		"Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez",
	}[m-1]
	return fmt.Sprintf("%02d-%s", int(m), short)
}

// day returns midnight of a date in UTC.
func day(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
}

// dayIn returns a day of the month.
func dayIn(rnd *rand.Rand, year int, month time.Month) time.Time {
	return day(year, month, 1+rnd.IntN(28))
}

// officeTime returns the day of t, some time between 8 and 17 o'clock.
func officeTime(rnd *rand.Rand, t time.Time) time.Time {
	return t.Add(8*time.Hour + time.Duration(rnd.IntN(9*3600))*time.Second)
}

// newRandom returns the random stream of seed: the same one on every run.
func newRandom(seed uint64) *rand.Rand {
	const archive = 0x61726368697665            // sets these streams apart from others with the same seed
	return rand.New(rand.NewPCG(archive, seed)) //nolint:gosec // sample data must repeat; nothing here is secret
}

// pick returns an element of list, which is not empty.
func pick[T any](rnd *rand.Rand, list []T) T {
	return list[rnd.IntN(len(list))]
}
