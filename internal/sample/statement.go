package sample

import (
	"fmt"
	"math/rand/v2"
	"time"
)

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

// payslipPaper sets the payslip of a person for a month.
func payslipPaper(employer company, person string, grossCents int, year int, month time.Month) paper {
	p := paper{
		title:  "Entgeltabrechnung " + monthName(month) + fmt.Sprintf(" %d", year),
		author: employer.name,
		date:   day(year, month, 27),
	}
	p.addLetterhead(employer, person)
	p.add(styleTitle, p.title)
	tab := table{columns: []column{
		{title: "Bezeichnung", width: 110},
		{title: "Satz", width: 25, right: true},
		{title: "Betrag EUR", width: 30, right: true},
	}}
	tab.rows = append(tab.rows, row{cells: []string{"Gehalt", "", euro(grossCents)}})
	net := grossCents
	for _, d := range []struct {
		name     string
		perMille int
	}{
		{"Lohnsteuer", 121},
		{"Krankenversicherung", 81},
		{"Pflegeversicherung", 18},
		{"Rentenversicherung", 93},
		{"Arbeitslosenversicherung", 13},
	} {
		cents := grossCents * d.perMille / 1000
		net -= cents
		rate := fmt.Sprintf("%d,%d %%", d.perMille/10, d.perMille%10)
		tab.rows = append(tab.rows, row{cells: []string{d.name, rate, euro(-cents)}})
	}
	tab.rows = append(tab.rows, row{cells: []string{"Auszahlung", "", euro(net)}, strong: true})
	p.addTable(tab)
	p.add(styleSmall, "Bitte bewahren Sie diese Abrechnung sorgfältig auf.")
	return p
}
