// Package text decodes texts, extracts the text of HTML, and lays texts out on pages in a fixed-width
// font. Time and memory are proportional to the input, even if it is malicious.
package text

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	letters "unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
)

// HTML returns the text of an HTML page, a line for each paragraph, and the addresses of its pictures.
func HTML(page string) (text string, pictures []string) {
	_, text, pictures = Titled(page)
	return text, pictures
}

// Titled is HTML with the title that stands in the head, where the text does not have it.
func Titled(page string) (title, text string, pictures []string) {
	tokens := html.NewTokenizer(strings.NewReader(page))
	w, head := &lines{}, &lines{}
	hidden, titled := 0, false // the nesting of elements that are not shown, and whether a title begins
	for {
		kind := tokens.Next()
		switch kind {
		case html.ErrorToken: // the end
			return head.end(), w.end(), pictures
		case html.TextToken:
			if hidden == 0 {
				w.words(string(tokens.Text()))
			} else if titled {
				head.words(string(tokens.Text()) + " ")
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			titled = token.DataAtom == atom.Title && kind == html.StartTagToken
			switch {
			case token.DataAtom == atom.Body: // </head> is optional
				hidden = 0
			case unseen(token.DataAtom) && kind == html.StartTagToken:
				hidden++
			case unseen(token.DataAtom) && kind == html.EndTagToken:
				hidden = max(0, hidden-1)
			case token.DataAtom == atom.Img && hidden == 0:
				picture, alternative := picture(token)
				pictures = append(pictures, picture)
				w.words(alternative)
			default:
				w.tag(token.DataAtom, kind)
			}
		}
	}
}

// unseen reports whether the content of an element is not shown.
func unseen(element atom.Atom) bool {
	switch element {
	case atom.Head, atom.Script, atom.Style, atom.Template, atom.Noscript:
		return true
	}
	return false
}

// picture returns the address and the alternative text of a picture.
func picture(token html.Token) (address, alternative string) {
	for _, a := range token.Attr {
		switch a.Key {
		case "src":
			address = a.Val
		case "alt":
			alternative = a.Val
		}
	}
	return address, alternative
}

// lines writes words with one blank between them, in lines.
type lines struct {
	b     strings.Builder
	blank bool // before the next word
	empty int  // line ends since the last word
}

func (w *lines) words(s string) {
	for len(s) > 0 {
		n := strings.IndexAny(s, " \t\r\n\f")
		switch {
		case n == 0:
			w.blank, s = true, s[1:]
			continue
		case n < 0:
			n = len(s)
		}
		if w.blank && w.empty == 0 && w.b.Len() > 0 {
			w.b.WriteByte(' ')
		}
		w.b.WriteString(s[:n])
		w.blank, w.empty, s = false, 0, s[n:]
	}
}

// newline ends the line, unless there are already that many line ends.
func (w *lines) newline(most int) {
	if w.b.Len() > 0 && w.empty < most {
		w.b.WriteByte('\n')
		w.empty++
	}
	w.blank = false
}

// tag writes the line breaks and marks of an element.
func (w *lines) tag(element atom.Atom, kind html.TokenType) {
	switch element {
	case atom.Br:
		w.newline(2)
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Blockquote, atom.Table, atom.Ul, atom.Ol, atom.Pre:
		w.newline(1)
		w.newline(2)
	case atom.Li:
		w.newline(1)
		if kind == html.StartTagToken {
			w.words("* ")
		}
	case atom.Td, atom.Th:
		if kind == html.EndTagToken {
			w.words("\t")
		}
	case atom.Div, atom.Tr, atom.Hr, atom.Dt, atom.Dd, atom.Title, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Form, atom.Option:
		w.newline(1)
	}
}

func (w *lines) end() string {
	text := strings.TrimRight(w.b.String(), "\n")
	if text != "" {
		text += "\n"
	}
	return text
}

// Decode turns a text into UTF-8: according to its byte order mark, or without a charset as it is Wide, unchanged if
// it is valid UTF-8, else from charset, else from Windows-1252, in which nearly every byte is valid; of a text that is
// UTF-8 for the most part only what is not.
func Decode(data []byte, charset string) string {
	if charset == "" {
		charset = Wide(data)
	}
	said := Encoding(charset)
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		said = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case said != nil && wide(charset):
	default:
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		if utf8.Valid(data) {
			return string(data)
		}
	}
	if said == nil || said == unicode.UTF8 {
		if mended, mostly := mend(data); mostly {
			return mended
		}
		said = charmap.Windows1252
	}
	decoded, err := said.NewDecoder().Bytes(data)
	if err != nil { // undecodable
		decoded = data
	}
	return strings.ToValidUTF8(string(decoded), "\ufffd")
}

// Encoding returns the encoding of a name, nil if there is none.
func Encoding(charset string) encoding.Encoding {
	if charset == "" {
		return nil
	}
	found, err := htmlindex.Get(charset)
	if err != nil || found == encoding.Replacement {
		found, _ = ianaindex.MIME.Encoding(charset)
	}
	return found
}

// mend decodes what is not UTF-8 in a text from Windows-1252, and reports whether most of its letters
// that are not ASCII are UTF-8.
func mend(data []byte) (text string, mostly bool) {
	var b strings.Builder
	valid, wrong := 0, 0
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			r = charmap.Windows1252.DecodeByte(data[0])
			wrong++
		case size > 1:
			valid++
		}
		b.WriteRune(r)
		data = data[size:]
	}
	return b.String(), valid > wrong
}

// Wide returns the character set of a text in UTF-16 without a byte order mark, empty for any other content. Its
// characters are those of ASCII, of one other alphabet of Europe or the Near East, and few more. A text with a byte for
// each character has nearly none of these: their upper bytes are less than those of blanks.
func Wide(data []byte) string {
	const least, most, few = 4, 2 << 10, 16
	n := min(len(data)/2, most)
	for charset, order := range map[string]binary.ByteOrder{"utf-16le": binary.LittleEndian, "utf-16be": binary.BigEndian} {
		upper, ascii := [256]int{}, 0
		for i := range n {
			c := rune(order.Uint16(data[2*i:]))
			if c < ' ' && !strings.ContainsRune("\t\n\f\r", c) || c >= ' ' && c < 0x700 && !letters.IsGraphic(c) {
				ascii = -n // there are none in a text
			} else if c <= '~' {
				ascii++
			}
			upper[c>>8]++
		}
		others := n - upper[0] - upper[0x20] - slices.Max(upper[1:7]) // 0x20: quotes, dashes and the sign of the euro
		if n >= least && ascii*few >= n && others*few <= n {
			return charset
		}
	}
	return ""
}

// wide reports whether a text in the character set may look like valid UTF-8.
func wide(charset string) bool {
	charset = strings.ToLower(strings.TrimSpace(charset))
	return strings.HasPrefix(charset, "utf-16") || strings.HasPrefix(charset, "iso-2022") || strings.HasPrefix(charset, "hz-")
}

// Beginning drops an incomplete UTF-8 rune at the end of data. It is for the beginning of a text, before it is decoded.
func Beginning(data []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		if last := data[len(data)-i:]; utf8.RuneStart(last[0]) && !utf8.FullRune(last) {
			return data[:len(data)-i]
		}
	}
	return data
}

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
