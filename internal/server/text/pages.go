package text

import (
	"strings"
	"unicode/utf8"
)

// The size of a page, in characters.
const (
	Columns = 96
	Rows    = 64
)

const (
	tabStop = 8
	// maxPages is how many pages a text may have.
	maxPages = 20_000
)

// Page is one page of a text.
type Page struct {
	Source string   // its part of the text, unchanged
	Rows   []string // its rows as laid out
}

// Pages lays a text out: long lines are broken at blanks, tabs go to the next multiple of eight
// columns, and a form feed begins a page. Unprintable characters become U+FFFD. There is at least one
// page, even for an empty text; nil means too many pages.
func Pages(text string) []Page {
	l := &layout{text: text}
	for at := 0; at < len(text); {
		if end := l.plainLine(at); end > at {
			at = end
			continue
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		l.put(r, at, at+size)
		if len(l.pages) > maxPages {
			return nil
		}
		at += size
	}
	if l.column > 0 {
		l.endRow(len(text))
	}
	if len(l.rows) > 0 || len(l.pages) == 0 {
		l.endPage(len(text))
	}
	return l.pages
}

// layout is a text that is being laid out.
type layout struct {
	text   string
	pages  []Page
	begin  int  // of the page
	filled bool // the last page ended because it was full
	rows   []string
	row    []byte
	column int
	// The position after the last blank of the row: in the row, in columns, and in the text.
	blank, blankColumn, blankAt int
}

// plainLine is the fast path for a whole line that fits and needs no changes, as nearly all lines. It
// sets the line and returns where the next one begins, or at if it did nothing.
func (l *layout) plainLine(at int) int {
	if l.column > 0 || len(l.pages) > maxPages {
		return at
	}
	length := strings.IndexByte(l.text[at:min(len(l.text), at+Columns+1)], '\n')
	if length < 0 {
		return at
	}
	line := l.text[at : at+length]
	if !plain(line) {
		return at
	}
	l.setRow(strings.TrimRight(line, " "), at+length+1)
	return at + length + 1
}

// plain reports whether put would set each rune as it is.
func plain(line string) bool {
	ascii := true
	for i := range len(line) {
		c := line[i]
		control := c == 0xc2 && i+1 < len(line) && line[i+1] < 0xa0 // U+0080 to U+009F
		if c < ' ' || c == 0x7f || control {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.ValidString(line)
}

// put sets the rune of the text from at up to next.
func (l *layout) put(r rune, at, next int) {
	switch {
	case r == '\n':
		l.endRow(next)
	case r == '\f':
		l.formFeed(at, next)
	case r == '\r' && strings.HasPrefix(l.text[next:], "\n"):
	case r == '\t':
		for again := true; again; again = l.column%tabStop != 0 && l.column < Columns {
			l.set(' ', at, next)
		}
	case r < ' ', r >= 0x7f && r < 0xa0, r == utf8.RuneError:
		l.set(utf8.RuneError, at, next)
	default:
		l.set(r, at, next)
	}
}

// set adds a rune to the row. If the row is full it first begins the next one, with the last word
// unless that fills the row.
func (l *layout) set(r rune, at, next int) {
	if l.column >= Columns {
		switch {
		case r == ' ': // the break is the blank
			l.endRow(next)
			return
		case l.blank > 0:
			rest, columns := string(l.row[l.blank:]), l.column-l.blankColumn
			l.row = l.row[:l.blank]
			l.endRow(l.blankAt)
			l.row, l.column = append(l.row, rest...), columns
		default:
			l.endRow(at)
		}
	}
	l.row = utf8.AppendRune(l.row, r)
	l.column++
	if r == ' ' {
		l.blank, l.blankColumn, l.blankAt = len(l.row), l.column, next
	}
}

// endRow ends the row, and the page when it is full.
func (l *layout) endRow(at int) {
	row := strings.TrimRight(string(l.row), " ")
	l.row, l.column, l.blank = l.row[:0], 0, 0
	l.setRow(row, at)
}

func (l *layout) setRow(row string, at int) {
	l.rows = append(l.rows, row)
	if len(l.rows) == Rows {
		l.endPage(at)
		l.filled = true
	}
}

func (l *layout) endPage(at int) {
	l.pages = append(l.pages, Page{Source: l.text[l.begin:at], Rows: l.rows})
	l.rows, l.begin, l.filled = make([]string, 0, len(l.rows)), at, false
}

// formFeed ends the page, unless it was full and has already ended.
func (l *layout) formFeed(at, next int) {
	if l.column > 0 {
		l.endRow(at)
	}
	if !l.filled || len(l.rows) > 0 {
		l.endPage(at)
	}
	l.begin, l.filled = next, false
}
