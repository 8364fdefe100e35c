package sample

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/archivefs/archivefs/archive"
)

// tradeKind is the kind of paper that goes with goods.
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

// newItems returns between 2 (or 1, if s sends no more) and s.most items.
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

// metadata returns what an invoice is found by.
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
