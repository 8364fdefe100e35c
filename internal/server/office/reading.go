package office

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// kind says what the elements of a file mean.
type kind int

const (
	prose  kind = iota // Office Open XML: text is in t, and p is a paragraph
	sheet              // of a workbook: v and t in c are cells, in row
	shared             // the texts of a workbook: each is an si
	open               // OpenDocument: text is in p and h
)

func kindOf(name string) kind {
	switch {
	case strings.HasPrefix(name, "xl/worksheets/"):
		return sheet
	case strings.HasPrefix(name, "xl/sharedStrings"):
		return shared
	case name == "content.xml":
		return open
	}
	return prose
}

// reading is a file of a document that is being read.
type reading struct {
	*document
	kind  kind
	in    int             // how deep in elements that hold text
	cells int             // how deep in cells of OpenDocument
	cell  string          // the type of a workbook's cell
	value strings.Builder // of that cell, or of a shared text
}

func (p *reading) holdsText(element string) bool {
	switch p.kind {
	case open:
		return element == "p" || element == "h"
	case sheet:
		return element == "v" || element == "t"
	}
	return element == "t"
}

func (p *reading) start(t xml.StartElement) {
	switch element := t.Name.Local; {
	case p.holdsText(element):
		p.in++
	case element == "tab":
		p.between("\t")
	case element == "br", element == "cr", element == "line-break":
		p.between("\n")
	case p.kind == open && element == "s":
		p.between(" ")
	case p.kind == open && element == "table-cell":
		p.cells++
	case p.kind == sheet && element == "c":
		p.cell = attribute(t, "t")
		p.value.Reset()
	}
}

func (p *reading) end(element string) {
	if p.holdsText(element) {
		p.in = max(0, p.in-1)
	}
	switch {
	case p.kind == shared && element == "si":
		p.shared, p.sum = append(p.shared, p.value.String()), p.sum+p.value.Len()+16
		p.value.Reset()
	case p.kind == sheet && element == "c":
		p.b.WriteString(p.shown() + "\t")
	case p.kind == open && element == "table-cell":
		p.cells = max(0, p.cells-1)
		p.b.WriteByte('\t')
	case element == "p" && p.cells > 0:
		p.b.WriteByte(' ')
	case element == "p", element == "h", element == "row", element == "table-row":
		p.line()
	}
}

func (p *reading) chars(text []byte) {
	switch {
	case p.in == 0:
	case p.kind == sheet, p.kind == shared:
		p.value.Write(text)
	default:
		p.b.Write(text)
	}
}

// between writes what stands between texts.
func (p *reading) between(s string) {
	if p.kind == prose || p.kind == open {
		p.b.WriteString(s)
	}
}

// shown is the value of a workbook's cell; that of type s is the number of a text.
func (p *reading) shown() string {
	value := p.value.String()
	if n, err := strconv.Atoi(value); p.cell == "s" && err == nil && n >= 0 && n < len(p.shared) {
		return p.shared[n]
	}
	return value
}

// line ends a line, unless nothing is on it.
func (p *reading) line() {
	if s := p.b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		p.b.WriteByte('\n')
	}
}

func attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
