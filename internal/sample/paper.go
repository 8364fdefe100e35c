package sample

import "time"

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
	right bool    // numbers end at the right edge
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
