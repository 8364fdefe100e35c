// Package office tells office documents by their structure, and extracts their text: Office Open XML
// (ECMA-376) and OpenDocument (ISO/IEC 26300), which are zip archives of XML files or one such file, and
// the type of older ones ([MS-CFB]). It reads only what has text, and bounds what a small file may unpack to.
package office

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/archivefs/archivefs/internal/server/mail"
	coded "github.com/archivefs/archivefs/internal/server/text"
)

// ErrUnreadable says that no text can be read from a document.
var ErrUnreadable = errors.New("the office document cannot be read")

const (
	// MaxText is the longest text that is extracted, in bytes.
	MaxText = 16 << 20
	// maxUnpacked is how much of a document is unpacked, in bytes.
	maxUnpacked = 32 << 20
)

// Is reports whether documents of that media type can be read.
func Is(media string) bool {
	return slices.ContainsFunc([]string{
		ooxml, Book, "application/vnd.oasis.opendocument.", "application/vnd.sun.xml.", "application/vnd.ms-excel.", "application/vnd.ms-powerpoint.",
		"application/vnd.ms-word.", word2006, word2003, excel2003, "text/rtf",
	}, func(kind string) bool { return strings.HasPrefix(media, kind) })
}

// Text returns the text of a document: a line for each paragraph, the cells of a row separated by tabs.
// A text longer than MaxText is cut off. The error is ErrUnreadable if the document cannot be read, or only what stands
// beside its main part.
func Text(r io.ReaderAt, size int64, media string) (string, error) {
	return text(r, size, media, maxUnpacked)
}

// text is Text with a limit of its own for unpacked bytes.
func text(r io.ReaderAt, size int64, media string, unpacked int64) (string, error) {
	d := &document{}
	err := d.add(r, size, media, &unpacked)
	return d.text(), err
}

// add reads a document of which so many bytes may be unpacked.
func (d *document) add(r io.ReaderAt, size int64, media string, left *int64) error {
	content := io.NewSectionReader(r, 0, size)
	switch {
	case strings.HasSuffix(media, flatXML):
		d.read(tokens(content, left), open, nil)
	case media == "text/rtf":
		words, err := RTF(content)
		d.b.WriteString(words)
		return err
	case media == word2006, media == word2003, media == excel2003:
		d.read(tokens(content, left), prose, nil)
	default:
		a, err := openArchive(r, size, left)
		if err != nil {
			return err
		}
		if media == Book {
			d.readBook(a)
			break
		}
		begins := media == "" || a.begins(media)
		if !d.readParts(a) {
			return fmt.Errorf("%w: it has no text", ErrUnreadable)
		}
		if !begins {
			return fmt.Errorf("%w: its main part is missing, empty or damaged", ErrUnreadable)
		}
	}
	return nil
}

// addChunk reads a document that stands in another one (ECMA-376-1, 17.17.2.1), as far as it can be read: an office
// document, a web page in one file (MHTML), a web page, or a text.
func (d *document) addChunk(content io.Reader, left *int64) {
	data, _ := io.ReadAll(&counted{content, left})
	in, size := bytes.NewReader(data), int64(len(data))
	switch media := Type(in, size, data); {
	case Is(media) && d.depth < maxAttached:
		chunk := document{depth: d.depth + 1}
		_ = chunk.add(in, size, media, left)
		d.b.WriteString(chunk.text())
	case mail.Fields(data)["mime-version"] != "":
		message, _ := mail.Read(in, nil)
		d.b.WriteString(message.Text)
	default:
		_, set, _ := charset.DetermineEncoding(data, "text/html")
		shown, _ := coded.HTML(coded.Decode(data, set))
		d.b.WriteString(shown)
	}
	d.line()
}

// parts are the kinds of parts with text, in reading order, by the relationships that lead to them and by
// their usual names. OpenDocument has no relationships. The shared strings of a workbook come before its sheets, which refer to them.
var parts = []struct {
	role, name string
	kind
}{
	{"officedocument", "word/document*.xml", prose},
	{"afchunk", "word/afchunk*", chunk},
	{"", "content.xml", open},
	{"", "object */content.xml", open},
	{"", "styles.xml", open}, // with headers and footers
	{"sharedstrings", "xl/sharedstrings*.xml", shared},
	{"worksheet", "xl/worksheets/sheet*.xml", sheet},
	{"slide", "ppt/slides/slide*.xml", prose},
	{"header", "word/header*.xml", prose},
	{"footer", "word/footer*.xml", prose},
	{"footnotes", "word/footnotes*.xml", prose},
	{"endnotes", "word/endnotes*.xml", prose},
	{"comments", "*/comments*.xml", prose},
	{"threadedcomment", "xl/threadedcomments/*.xml", prose},
	{"notesslide", "ppt/notesslides/notesslide*.xml", prose},
	{"drawing", "xl/drawings/drawing*.xml", prose},
	{"diagramdata", "*/diagrams/data*.xml", prose},
	{"chart", "*/charts/chart*.xml", chart},
}

// rank is the place of the kind of part that a relation leads to, len(parts) if it has no text.
func (r relation) rank() int {
	for i, p := range parts {
		if p.role == r.role {
			return i
		}
	}
	return len(parts)
}

// names are those of all files, in the order of the numbers that these end in.
func (a *archive) names() []string {
	return slices.SortedFunc(maps.Keys(a.files), func(a, b string) int {
		return cmp.Or(number(a)-number(b), strings.Compare(a, b))
	})
}

// usual leads to the parts with usual names.
func (a *archive) usual() (list []relation) {
	names := a.names()
	for _, p := range parts {
		for _, name := range names {
			if is, _ := path.Match(p.name, name); is {
				list = append(list, relation{role: p.role, to: name})
			}
		}
	}
	return list
}

// number is the number that a file's name ends in, 0 if there is none.
func number(name string) int {
	base := strings.TrimSuffix(path.Base(name), path.Ext(name))
	n, _ := strconv.Atoi(base[len(strings.TrimRight(base, "0123456789")):])
	return n
}

// document is a document that is being read.
type document struct {
	b      strings.Builder
	shared []string // the shared strings of a workbook, by number
	sum    int      // their bytes
	depth  int      // of documents in one another
}

func (d *document) full() bool { return d.b.Len() >= MaxText || d.sum >= MaxText }

func (d *document) text() string {
	text := d.b.String()
	return strings.ToValidUTF8(text[:min(len(text), MaxText)], "")
}

// readParts reads the parts of a document that its relationships lead to, level by level, then others with
// usual names. It reports whether there is one.
func (d *document) readParts(a *archive) bool {
	known := map[string]bool{}
	for _, list := range [][]relation{a.relations(""), a.usual()} {
		for len(list) > 0 {
			level := slices.DeleteFunc(list, func(r relation) bool {
				if known[r.to] || r.rank() == len(parts) || path.Ext(r.to) == ".bin" {
					return true
				}
				known[r.to] = true
				return false
			})
			slices.SortStableFunc(level, func(a, b relation) int { return a.rank() - b.rank() })
			list = nil
			for _, r := range level {
				list = append(list, d.readPart(a, r.to, parts[r.rank()].kind)...)
			}
		}
	}
	return len(known) > 0
}

// readBook reads an EPUB: its title, and its pages in the order that its package gives them (EPUB 3.3, 5.7).
func (d *document) readBook(a *archive) {
	var order []string
	for _, name := range a.names() {
		if path.Ext(name) == ".opf" {
			d.readPart(a, name, page)
			items := map[string]string{}
			for t := range a.elements(name) {
				items[attribute(t, "id")] = clean(path.Dir(name) + "/" + attribute(t, "href"))
				order = append(order, items[attribute(t, "idref")])
			}
		}
	}
	known := map[string]bool{}
	for _, name := range append(order, a.names()...) {
		if !known[name] && slices.Contains([]string{".xhtml", ".html", ".htm"}, path.Ext(name)) {
			known[name] = true
			d.readPart(a, name, page)
		}
	}
}

// readPart reads a part, and returns its relations in the order in which it refers to them.
func (d *document) readPart(a *archive, name string, kind kind) []relation {
	list, places := a.relations(name), map[string]int{}
	for _, r := range list {
		places[r.id] = math.MaxInt
	}
	content := a.open(name)
	defer func() { _ = content.Close() }()
	if kind == chunk {
		d.addChunk(content, a.left)
	} else {
		d.read(tokens(content, a.left), kind, places)
	}
	slices.SortStableFunc(list, func(a, b relation) int { return cmp.Compare(places[a.id], places[b.id]) })
	return list
}

// read reads XML. It notes in places how many tokens stand in front of an id of a relation.
func (d *document) read(tokens iter.Seq[xml.Token], kind kind, places map[string]int) {
	p, n := reading{document: d, kind: kind}, 0
	for token := range tokens {
		switch t := token.(type) {
		case xml.StartElement:
			p.start(t)
			for _, a := range t.Attr {
				if place, is := places[a.Value]; is && a.Name.Space != "" {
					places[a.Value] = min(n, place)
				}
			}
		case xml.EndElement:
			p.end(t.Name.Local)
		case xml.CharData:
			p.chars(t)
		}
		if n++; d.full() {
			break
		}
	}
	p.line()
}

// kind is the XML vocabulary of a part.
type kind int

const (
	prose  kind = iota // Office Open XML: text is in t, in text (of comments) or Data (Excel 2003), and p is a paragraph
	chart              // and in v
	sheet              // of a workbook: v and t in c are cells, in row
	shared             // the shared strings of a workbook: each is an si
	open               // OpenDocument: text is in p and h
	chunk              // another document
	page               // XHTML: the title, and all of the body, is text
)

// headers match the elements with a header or a footer of a workbook, and codes what stands between its texts (ECMA-376-1, 18.3.1.46).
var headers, codes = regexp.MustCompile(`^(?:odd|even|first)(?:Header|Footer)$`), regexp.MustCompile(`&(?:"[^"]*"|K[0-9A-F]{6}|[0-9]+|[A-Za-z])`)

// reading is a part of a document that is being read.
type reading struct {
	*document
	kind  kind
	in    int             // the nesting of elements that hold text
	image bool            // in a picture, which may stand in a text
	cells int             // the nesting of OpenDocument cells
	cell  string          // the type of a workbook's cell
	value strings.Builder // of that cell, or of a shared text
}

func (p *reading) holdsText(element string) bool {
	switch p.kind {
	case open:
		return element == "p" || element == "h"
	case sheet, chart:
		return element == "v" || element == "t" || headers.MatchString(element)
	case shared:
		return element == "t"
	case page:
		return element == "body" || element == "title" || element == "creator"
	}
	return element == "t" || element == "text" || element == "Data"
}

func (p *reading) start(t xml.StartElement) {
	switch element := t.Name.Local; {
	case p.holdsText(element):
		p.in++
	case element == "tab":
		p.between("\t")
	case element == "br", element == "cr", element == "line-break":
		p.between("\n")
	case p.kind == open && (element == "s" || element == "note"):
		p.between(" ")
	case p.kind == open && element == "table-cell":
		p.cells++
	case element == "binary-data":
		p.image = true
	case p.kind == sheet && element == "c":
		p.cell = attribute(t, "t")
		p.value.Reset()
	case p.kind == prose && (element == "sheet" || element == "Worksheet"): // what people call it
		p.b.WriteString(attribute(t, "name") + attribute(t, "Name") + "\n")
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
		p.value.Reset()
	case p.kind == sheet && headers.MatchString(element):
		p.line()
		p.b.WriteString(codes.ReplaceAllString(p.value.String(), " ") + "\n")
		p.value.Reset()
	case p.kind == open && element == "table-cell":
		p.cells = max(0, p.cells-1)
		p.b.WriteByte('\t')
	case element == "binary-data":
		p.image = false
	case element == "note-citation": // of OpenDocument: a footnote stands in the text
		p.b.WriteByte(' ')
	case p.kind == prose && element == "Cell", p.kind == chart && element == "pt":
		p.b.WriteByte('\t')
	case element == "p" && p.cells > 0:
		p.b.WriteByte(' ')
	case slices.Contains([]string{"p", "h", "row", "Row", "table-row", "text", "ser"}, element),
		p.kind == page && slices.Contains([]string{"h1", "h2", "h3", "h4", "h5", "h6", "li", "div", "td", "th", "dt", "dd", "title", "creator"}, element):
		p.line()
	}
}

func (p *reading) chars(text []byte) {
	switch {
	case p.in == 0, p.image:
	case p.kind == sheet, p.kind == shared:
		p.value.Write(text)
	default:
		p.b.Write(text)
	}
}

// between writes white space between texts.
func (p *reading) between(s string) {
	if p.kind != sheet && p.kind != shared {
		p.b.WriteString(s)
	}
}

// shown is the displayed value of a workbook's cell. A cell of type s has the number of a shared string.
func (p *reading) shown() string {
	value := p.value.String()
	if n, err := strconv.Atoi(value); p.cell == "s" && err == nil && n >= 0 && n < len(p.shared) {
		return p.shared[n]
	}
	return value
}

// line ends a line, unless it is empty.
func (d *document) line() {
	if s := d.b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		d.b.WriteByte('\n')
	}
}
