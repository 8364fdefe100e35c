package sample

import (
	"fmt"
	"strings"
)

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

// surface is what a paper is set on: pages of a PDF or images of pages. Positions
// are millimetres from the page's upper left corner, y is the base line.
type surface interface {
	newPage()
	// width returns the width of text in millimetres.
	width(text string, f face) float64
	text(x, y float64, text string, f face)
	rule(x1, x2, y float64)
}

// face is a cut of the one font family that every surface has.
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
