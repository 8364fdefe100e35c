package sample

import (
	"fmt"
	"slices"
	"time"
)

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
