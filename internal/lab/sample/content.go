package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/archivefs/archivefs/archive"
)

// paper is a business document before it becomes a file: blocks in reading order.
type paper struct {
	title  string
	author string // the sender's name, repeated at the foot of each page
	date   time.Time
	blocks []block
}

// block is a paragraph or, when table is set, a table.
type block struct {
	style style
	text  string // "\n" ends a line
	table *table
}

// style is the look of a paragraph.
type style uint8

// The styles of paragraphs.
const (
	styleBody style = iota
	styleTitle
	styleHeading
	styleSender // the letterhead, at the right margin
	styleRight  // at the right margin: place and date, sums
	styleSmall
)

// table is a table whose rows never break within a cell.
type table struct {
	columns []column
	rows    []row
}

// column is a column of a table.
type column struct {
	title string
	width float64 // millimetres
	right bool    // aligned right, for numbers
}

// row is a row of a table with a cell for each column; sums are strong.
type row struct {
	cells  []string
	strong bool
}

// section is a part of a longer paper: a heading and its paragraphs.
type section struct {
	heading    string
	paragraphs []string
}

// add appends a paragraph.
func (p *paper) add(s style, text string) {
	p.blocks = append(p.blocks, block{style: s, text: text})
}

// addTable appends a table.
func (p *paper) addTable(t table) {
	p.blocks = append(p.blocks, block{table: &t})
}

// addSections appends sections, one after the other.
func (p *paper) addSections(sections []section) {
	for _, s := range sections {
		p.add(styleHeading, s.heading)
		for _, text := range s.paragraphs {
			p.add(styleBody, text)
		}
	}
}

// addLetterhead appends sender, recipient, place and date, as DIN 5008 orders them.
func (p *paper) addLetterhead(from company, to string) {
	p.add(styleSender, from.name+"\n"+from.street+"\n"+from.city+"\n"+from.mailbox())
	p.add(styleBody, to)
	p.add(styleRight, from.town()+", "+germanDate(p.date))
}

// Measures of an A4 page (ISO 216) with the margins of DIN 5008, in millimetres.
const (
	pageWidth    = 210.0
	pageHeight   = 297.0
	leftMargin   = 25.0
	rightMargin  = 20.0
	topMargin    = 22.0
	bottomMargin = 25.0
	textWidth    = pageWidth - leftMargin - rightMargin

	pointsPerMM = 72 / 25.4
	lineFactor  = 1.35 // line height in font sizes
)

// surface is where a paper is drawn: pages of a PDF or images of pages. Positions
// are millimetres from the page's upper left corner, y is the base line.
type surface interface {
	newPage()
	// width returns the width of text in millimetres.
	width(text string, f face) float64
	text(x, y float64, text string, f face)
	rule(x1, x2, y float64)
}

// face is a size and weight of the one font family of a surface.
type face struct {
	size float64 // points
	bold bool
}

// lineHeight returns the distance of two base lines in millimetres.
func (f face) lineHeight() float64 { return f.size * lineFactor / pointsPerMM }

// look is what a style means on the page.
type look struct {
	face
	right bool
	after float64 // millimetres below the paragraph
}

func (s style) look() look {
	switch s {
	case styleTitle:
		return look{face: face{size: 15, bold: true}, after: 5}
	case styleHeading:
		return look{face: face{size: 11, bold: true}, after: 1.5}
	case styleSender:
		return look{face: face{size: 9}, right: true, after: 8}
	case styleRight:
		return look{face: face{size: 10}, right: true, after: 6}
	case styleSmall:
		return look{face: face{size: 8}, after: 3}
	default:
		return look{face: face{size: 10.5}, after: 4}
	}
}

// setter sets a paper on a surface from top to bottom, page after page.
type setter struct {
	surface
	author string
	page   int
	y      float64 // the last base line on the page
}

// set sets p on s and returns the number of pages, at least 1.
func set(p paper, s surface) int {
	t := &setter{surface: s, author: p.author}
	t.breakPage()
	for _, b := range p.blocks {
		if b.table != nil {
			t.table(*b.table)
			continue
		}
		t.paragraph(b)
	}
	return t.page
}

// breakPage begins a page and sets its foot.
func (t *setter) breakPage() {
	t.newPage()
	t.page++
	foot := face{size: 8}
	y := pageHeight - bottomMargin/2
	t.rule(leftMargin, pageWidth-rightMargin, y-foot.lineHeight())
	t.text(leftMargin, y, t.author, foot)
	number := fmt.Sprintf("Seite %d", t.page)
	t.text(pageWidth-rightMargin-t.width(number, foot), y, number, foot)
	t.y = topMargin
}

// line moves to the next base line, on a new page when this one is full.
func (t *setter) line(height float64) {
	if !t.fits(height) {
		t.breakPage()
	}
	t.y += height
}

// fits reports whether there is room for height millimetres on the page.
func (t *setter) fits(height float64) bool { return t.y+height <= pageHeight-bottomMargin }

func (t *setter) paragraph(b block) {
	l := b.style.look()
	if b.style == styleHeading && !t.fits(4*l.lineHeight()) {
		t.breakPage() // a heading stays with its text
	}
	for _, text := range t.wrap(b.text, l.face) {
		t.line(l.lineHeight())
		x := leftMargin
		if l.right {
			x = pageWidth - rightMargin - t.width(text, l.face)
		}
		t.text(x, t.y, text, l.face)
	}
	t.y += l.after
}

// wrap breaks text into lines that fit between the margins.
func (t *setter) wrap(text string, f face) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			longer := strings.TrimPrefix(line+" "+word, " ")
			if line != "" && t.width(longer, f) > textWidth {
				lines = append(lines, line)
				longer = word
			}
			line = longer
		}
		lines = append(lines, line)
	}
	return lines
}

// table sets a table; its head is repeated on each page.
func (t *setter) table(tab table) {
	f := face{size: 9}
	head := row{strong: true}
	for _, c := range tab.columns {
		head.cells = append(head.cells, c.title)
	}
	t.row(tab.columns, head, f)
	for _, r := range tab.rows {
		if !t.fits(f.lineHeight()) {
			t.breakPage()
			t.row(tab.columns, head, f)
		}
		t.row(tab.columns, r, f)
	}
	t.y += 6
}

// row sets a row of a table; a strong one is bold with a rule below.
func (t *setter) row(columns []column, r row, f face) {
	f.bold = r.strong
	t.line(f.lineHeight())
	x := leftMargin
	for i, c := range columns {
		cell := r.cells[i]
		at := x
		if c.right {
			at = x + c.width - t.width(cell, f)
		}
		t.text(at, t.y, cell, f)
		x += c.width
	}
	if r.strong {
		t.rule(leftMargin, x, t.y+1.2)
		t.y += 1.2
	}
}

// letter is a business letter.
type letter struct {
	from       company
	to         string // address block
	date       time.Time
	subject    string
	paragraphs []string
	signer     string
}

// paper sets the letter.
func (l letter) paper() paper {
	p := paper{title: l.subject, author: l.from.name, date: l.date}
	p.addLetterhead(l.from, l.to)
	p.add(styleHeading, l.subject)
	p.add(styleBody, "Sehr geehrte Damen und Herren,")
	for _, text := range l.paragraphs {
		p.add(styleBody, text)
	}
	p.add(styleBody, "Mit freundlichen Grüßen\n\n"+l.signer+"\n"+l.from.name)
	return p
}

// topic is what a letter or an e-mail is about.
type topic struct {
	subject    string
	paragraphs []string
}

// customerTopics is what customers write about.
func customerTopics() []topic {
	return []topic{
		{"Rückfrage zu Ihrer Lieferung", []string{
			"mit der letzten Lieferung kamen statt der bestellten zwölf nur zehn Regalböden an. Auf dem Lieferschein sind zwölf Stück vermerkt.",
			"Bitte prüfen Sie, ob die fehlenden Böden noch in Ihrem Lager stehen, und teilen Sie uns den Termin der Nachlieferung mit. Unsere Öffnungszeiten für Anlieferungen sind werktags von 7 bis 15 Uhr.",
		}},
		{"Terminverschiebung Aufmaß", []string{
			"leider müssen wir das für Donnerstag vereinbarte Aufmaß verschieben, weil die Estricharbeiten im Erdgeschoss noch nicht abgeschlossen sind.",
			"Wir schlagen den Mittwoch der folgenden Woche um 9 Uhr vor. Der Zugang erfolgt über die Rampe an der Südseite.",
		}},
		{"Reklamation: Kratzer an der Oberfläche", []string{
			"beim Auspacken haben wir an drei Fronten tiefe Kratzer gefunden. Fotos haben wir unserem Monteur mitgegeben.",
			"Wir bitten um Ersatz bis zum Monatsende und behalten den anteiligen Rechnungsbetrag bis dahin ein.",
			"Die beschädigten Teile stehen zur Abholung bereit.",
		}},
		{"Auftragsbestätigung und Zahlungsplan", []string{
			"anbei erhalten Sie die unterschriebene Auftragsbestätigung. Mit dem Zahlungsplan – 30 % bei Auftrag, 60 % bei Lieferung, 10 % nach Abnahme – sind wir einverstanden.",
			"Bitte senden Sie Rechnungen künftig ausschließlich als PDF an unsere zentrale Adresse.",
		}},
		{"Änderung unserer Bankverbindung", []string{
			"zum nächsten Monatsersten ändert sich unsere Bankverbindung. Bitte verwenden Sie für Gutschriften nur noch das neue Konto.",
			"Zu Ihrer Sicherheit bestätigen wir die Änderung gern telefonisch unter der Ihnen bekannten Nummer.",
		}},
	}
}

// officeTopics is what authorities write about.
func officeTopics() []topic {
	return []topic{
		{"Eingangsbestätigung Ihres Bauantrags", []string{
			"Ihr Antrag auf Nutzungsänderung der Lagerhalle Süd ist eingegangen und wird unter dem oben genannten Datum geführt.",
			"Für die weitere Bearbeitung fehlen der Lageplan im Maßstab 1:500 und der Nachweis der Stellplätze in je dreifacher Ausfertigung. Bitte reichen Sie diese innerhalb von vier Wochen nach.",
		}},
		{"Erinnerung an die Umsatzsteuer-Voranmeldung", []string{
			"die Voranmeldung für den abgelaufenen Zeitraum liegt noch nicht vor. Sie war am zehnten Tag nach Ablauf des Voranmeldungszeitraums abzugeben.",
			"Sollte sich dieses Schreiben mit Ihrer Übermittlung überschnitten haben, betrachten Sie es bitte als gegenstandslos.",
		}},
		{"Ankündigung einer Betriebsbesichtigung", []string{
			"wir beabsichtigen, Ihren Betrieb im kommenden Quartal zu besichtigen. Schwerpunkte sind Ladungssicherung, Leitern und Tritte sowie die Unterweisung der Beschäftigten.",
			"Bitte halten Sie die Gefährdungsbeurteilung und die Prüfbücher der Regalanlagen bereit.",
		}},
	}
}

// contract is an agreement of two parties, several pages long.
type contract struct {
	title   string
	parties [2]string // address blocks
	roles   [2]string // what the text calls the parties
	author  string
	date    time.Time
	terms   []section
}

// paper sets the contract: parties, numbered sections, closing terms, signatures.
func (c contract) paper() paper {
	p := paper{title: c.title, author: c.author, date: c.date}
	p.add(styleTitle, c.title)
	p.add(styleBody, "zwischen")
	p.add(styleBody, c.parties[0]+"\n– im Folgenden „"+c.roles[0]+"“ –")
	p.add(styleBody, "und")
	p.add(styleBody, c.parties[1]+"\n– im Folgenden „"+c.roles[1]+"“ –")
	p.add(styleBody, "wird am "+germanDate(c.date)+" Folgendes vereinbart:")
	var sections []section
	for i, s := range slices.Concat(c.terms, closingTerms()) {
		sections = append(sections, section{fmt.Sprintf("§ %d  %s", i+1, s.heading), s.paragraphs})
	}
	p.addSections(sections)
	for _, role := range c.roles {
		p.add(styleBody, "\n______________________________\nOrt, Datum, "+role)
	}
	return p
}

// tradeKind is the kind of a trade paper.
type tradeKind uint8

// The kinds of trade papers.
const (
	tradeInvoice tradeKind = iota
	tradeQuotation
	tradeDelivery
)

// title returns the German name of the kind.
func (k tradeKind) title() string {
	return [...]string{
		tradeInvoice: "Rechnung", tradeQuotation: "Angebot", tradeDelivery: "Lieferschein",
	}[k]
}

// trade is an invoice, a quotation or a delivery note: items from a supplier to a
// customer.
type trade struct {
	kind     tradeKind
	supplier supplier
	customer company
	number   string
	date     time.Time
	items    []item
}

// item is a line of a trade paper.
type item struct {
	product
	quantity int
}

// total returns the net price of the item in cents.
func (i item) total() int { return i.quantity * i.cents }

// newItems returns 2 to s.most items, or one if s.most is 1.
func newItems(rnd *rand.Rand, s supplier) []item {
	items := make([]item, min(2, s.most)+rnd.IntN(s.most-min(2, s.most)+1))
	order := rnd.Perm(len(s.products))
	for i := range items {
		p := s.products[order[i%len(order)]]
		items[i] = item{product: p, quantity: 1 + rnd.IntN(p.most)}
	}
	return items
}

// net, tax and gross are the sums in cents; tax is rounded half up.
func (t trade) net() int {
	sum := 0
	for _, i := range t.items {
		sum += i.total()
	}
	return sum
}

func (t trade) tax() int   { return (t.net()*t.supplier.vat + 50) / 100 }
func (t trade) gross() int { return t.net() + t.tax() }

// paper sets the trade paper; a delivery note shows no prices.
func (t trade) paper() paper {
	p := paper{title: t.kind.title() + " " + t.number, author: t.supplier.name, date: t.date}
	p.addLetterhead(t.supplier.company, t.customer.address())
	p.add(styleTitle, p.title)
	p.add(styleBody, t.opening())
	if t.kind == tradeDelivery {
		p.addTable(t.goods())
	} else {
		p.addTable(t.prices())
	}
	p.add(styleBody, t.closing())
	p.add(styleSmall, fmt.Sprintf("%s · %s, %s · Steuernummer 000/000/00000 · Konto DE00 0000 0000 0000 0000 00",
		t.supplier.name, t.supplier.street, t.supplier.city))
	return p
}

func (t trade) goods() table {
	tab := table{columns: []column{
		{title: "Pos.", width: 15},
		{title: "Bezeichnung", width: 100},
		{title: "Menge", width: 20, right: true},
		{title: "  Einheit", width: 30},
	}}
	for n, i := range t.items {
		tab.rows = append(tab.rows, row{cells: []string{
			strconv.Itoa(n + 1), i.name, strconv.Itoa(i.quantity), "  " + i.unit,
		}})
	}
	return tab
}

func (t trade) prices() table {
	tab := table{columns: []column{
		{title: "Pos.", width: 12},
		{title: "Bezeichnung", width: 66},
		{title: "Menge", width: 15, right: true},
		{title: "  Einheit", width: 25},
		{title: "Einzelpreis", width: 22, right: true},
		{title: "Betrag EUR", width: 25, right: true},
	}}
	for n, i := range t.items {
		tab.rows = append(tab.rows, row{cells: []string{
			strconv.Itoa(n + 1), i.name, strconv.Itoa(i.quantity), "  " + i.unit, euro(i.cents), euro(i.total()),
		}})
	}
	sum := func(name string, cents int) row {
		return row{cells: []string{"", name, "", "", "", euro(cents)}, strong: true}
	}
	tab.rows = append(tab.rows, sum("Summe netto", t.net()),
		sum(fmt.Sprintf("Umsatzsteuer %d %%", t.supplier.vat), t.tax()), sum("Gesamtbetrag", t.gross()))
	return tab
}

func (t trade) opening() string {
	switch t.kind {
	case tradeQuotation:
		return "Sehr geehrte Damen und Herren,\nvielen Dank für Ihre Anfrage. Gern bieten wir Ihnen an:"
	case tradeDelivery:
		return "Wir lieferten Ihnen am " + germanDate(t.date) + " frei Haus:"
	default:
		return "Sehr geehrte Damen und Herren,\nfür unsere Lieferungen und Leistungen im " +
			monthName(t.date.Month()) + " " + strconv.Itoa(t.date.Year()) + " berechnen wir Ihnen:"
	}
}

func (t trade) closing() string {
	due := germanDate(t.date.AddDate(0, 0, 14))
	switch t.kind {
	case tradeQuotation:
		return "An dieses Angebot halten wir uns bis zum " + germanDate(t.date.AddDate(0, 0, 30)) +
			" gebunden. Die Lieferzeit beträgt etwa drei Wochen nach Auftragseingang."
	case tradeDelivery:
		return "Ware vollständig und unbeschädigt erhalten:\n\n______________________________\nDatum, Unterschrift"
	default:
		return "Bitte überweisen Sie den Gesamtbetrag bis zum " + due + " ohne Abzug unter Angabe der " +
			"Rechnungsnummer " + t.number + ". Die Ware bleibt bis zur vollständigen Bezahlung unser Eigentum."
	}
}

// metadata returns the metadata of an invoice.
func (t trade) metadata() []archive.KeyValue {
	return []archive.KeyValue{
		{Key: "Rechnungsnummer", Value: t.number},
		{Key: "Betrag", Value: euro(t.gross())},
		{Key: "Lieferant", Value: t.supplier.name},
		{Key: "Belegdatum", Value: t.date.Format(time.DateOnly)},
		{Key: "Kostenstelle", Value: t.supplier.costCenter},
	}
}

// euro returns an amount as Germans write it, "1.234,56".
func euro(cents int) string { return humanize.FormatFloat("#.###,##", float64(cents)/100) }

// statementPaper sets the bank statement of a month, with 35 to 90 bookings.
func statementPaper(rnd *rand.Rand, holder company, year int, month time.Month) paper {
	from := bank()
	last := day(year, month+1, 0)
	p := paper{
		title:  fmt.Sprintf("Kontoauszug %d/%d", int(month), year),
		author: from.name,
		date:   last,
	}
	p.addLetterhead(from, holder.address())
	p.add(styleTitle, p.title)
	balance := 1_500_000 + rnd.IntN(4_000_000)
	p.add(styleBody, "Konto DE00 0000 0000 0000 0000 00\nAnfangssaldo EUR "+euro(balance))
	tab := table{columns: []column{
		{title: "Tag", width: 18},
		{title: "Buchung", width: 102},
		{title: "Betrag EUR", width: 22, right: true},
		{title: "Saldo EUR", width: 23, right: true},
	}}
	bookings := 35 + rnd.IntN(56)
	for i := range bookings {
		purpose, cents := booking(rnd)
		balance += cents
		at := day(year, month, 1+i*last.Day()/bookings)
		tab.rows = append(tab.rows, row{cells: []string{at.Format("02.01."), purpose, euro(cents), euro(balance)}})
	}
	tab.rows = append(tab.rows, row{cells: []string{"", "Endsaldo", "", euro(balance)}, strong: true})
	p.addTable(tab)
	p.add(styleSmall, "Bitte prüfen Sie den Auszug und erheben Sie Einwendungen innerhalb von sechs Wochen. Guthaben sind als Einlagen geschützt.")
	return p
}

// booking returns the purpose of a booking and its amount in cents, negative for a
// payment.
func booking(rnd *rand.Rand) (purpose string, cents int) {
	amount := 2_000 + rnd.IntN(300_000)
	if rnd.IntN(2) == 0 {
		return fmt.Sprintf("Gutschrift %s, Rechnung %d", pick(rnd, customers()).name, 1000+rnd.IntN(9000)), amount
	}
	return fmt.Sprintf("Überweisung %s, Rg. %d", pick(rnd, officeSuppliers()).name, 1000+rnd.IntN(9000)), -amount
}

// minutesPaper sets the minutes of a meeting with the given number of points.
func minutesPaper(rnd *rand.Rand, host company, subject string, date time.Time, points int) paper {
	p := paper{title: "Protokoll: " + subject, author: host.name, date: date}
	p.add(styleTitle, "Besprechungsprotokoll")
	p.add(styleBody, "Thema: "+subject+"\nDatum: "+germanDate(date)+"\nOrt: "+host.town()+", Besprechungsraum „Ölmühle“")
	p.add(styleBody, "Teilnehmer: "+strings.Join(staff(), ", "))
	topics := meetingTopics()
	for n, i := range rnd.Perm(len(topics))[:points] {
		p.add(styleHeading, fmt.Sprintf("TOP %d  %s", n+1, topics[i].subject))
		for _, text := range topics[i].paragraphs {
			p.add(styleBody, text)
		}
		p.add(styleSmall, "Verantwortlich: "+pick(rnd, staff())+" · bis "+germanDate(date.AddDate(0, 0, 7+rnd.IntN(40))))
	}
	return p
}

// staff are the people of Muster GmbH.
func staff() []string {
	return []string{"Erika Mustermann", "Jürgen Großkötter", "Aylin Öztan-Weiß", "Björn Käsebrink", "Theo Überacker"}
}

// meetingTopics is what meetings are about; there are six.
func meetingTopics() []topic {
	return []topic{
		{"Stand der Baugenehmigung", []string{
			"Das Bauordnungsamt hat den Eingang bestätigt. Nachzureichen sind der Lageplan und der Nachweis der Stellplätze. Der Brandschutznachweis liegt vor und wurde ohne Anmerkungen geprüft.",
		}},
		{"Statik der Zwischenbühne", []string{
			"Die zulässige Flächenlast von 5 kN/m² reicht für die geplanten Regale nicht aus. Der Statiker untersucht, ob zusätzliche Stützen in Achse 4 genügen oder der Überzug verstärkt werden muss.",
			"Bis zur Klärung wird die Bühne nur mit Leergut belegt.",
		}},
		{"Lüftung und Wärmerückgewinnung", []string{
			"Zwei Angebote liegen vor. Die Anlage mit Rotationswärmetauscher ist in der Anschaffung teurer, spart aber über zehn Jahre mehr als den Aufpreis. Der Förderantrag ist vor der Beauftragung zu stellen.",
		}},
		{"Umzug des Warenlagers", []string{
			"Der Umzug wird auf drei Wochenenden verteilt. Schnelldreher bleiben bis zuletzt am alten Platz. Für die Inventur am Ende werden zwölf Personen benötigt.",
			"Die Spedition stellt zwei Fahrzeuge mit Ladebordwand; Paletten sind vorab zu etikettieren.",
		}},
		{"Kosten und Zeitplan", []string{
			"Von den freigegebenen Mitteln sind 62 % verplant und 41 % ausgegeben. Der Puffer von drei Wochen ist durch die Lieferzeit der Tore aufgebraucht. Eine Entscheidung über den Verzicht auf das Vordach fällt in der nächsten Sitzung.",
		}},
		{"Verschiedenes", []string{
			"Die Schließanlage wird um sechs Zylinder erweitert. Für die Übergangszeit werden Schlüssel gegen Unterschrift ausgegeben. Der nächste Termin wird per E-Mail abgestimmt.",
		}},
	}
}
