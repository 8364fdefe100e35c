// Package office extracts the text of office documents: Office Open XML (ECMA-376) and OpenDocument
// (ISO/IEC 26300). Both are zip archives of XML files. It reads only those with text, and bounds what
// a small file may unpack to.
package office

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ErrUnreadable says that no text can be read from a document.
var ErrUnreadable = errors.New("the office document cannot be read")

const (
	// MaxText is the longest text that is extracted, in bytes.
	MaxText = 16 << 20
	// maxUnpacked is how much of a document is unpacked, in bytes.
	maxUnpacked = 32 << 20
	// maxDirectory is the largest directory of an archive, in bytes: some 10,000 files.
	maxDirectory = 1 << 20
)

// Is reports whether documents of that media type can be read.
func Is(media string) bool {
	return strings.HasPrefix(media, "application/vnd.openxmlformats-officedocument.") ||
		strings.HasPrefix(media, "application/vnd.oasis.opendocument.")
}

// Text returns the text of a document: a line for each paragraph, the cells of a row separated by tabs.
// A text longer than MaxText is cut off. The error is ErrUnreadable if the document cannot be read.
func Text(r io.ReaderAt, size int64) (string, error) {
	return text(r, size, maxUnpacked)
}

// text is Text with a limit of its own for unpacked bytes.
func text(r io.ReaderAt, size, unpacked int64) (string, error) {
	if err := checkDirectory(r, size); err != nil {
		return "", err
	}
	files, err := zip.NewReader(r, size)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	d := &document{left: unpacked}
	parts := written(files.File)
	for _, f := range parts {
		if err := d.part(f); err != nil {
			return "", err
		}
		if d.full() {
			break
		}
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("%w: it has no text", ErrUnreadable)
	}
	return d.text(), nil
}

// checkDirectory refuses an archive whose directory is, or may be, too large: package zip reads all of
// it into memory. The last record of an archive has the place of its directory (APPNOTE, 4.3.16).
func checkDirectory(r io.ReaderAt, size int64) error {
	const record, comment = 22, 1 << 16
	end := make([]byte, min(size, record+comment))
	if n, err := r.ReadAt(end, size-int64(len(end))); n < len(end) {
		return fmt.Errorf("read office document: %w", err)
	}
	at := bytes.LastIndex(end, []byte("PK\x05\x06"))
	if at < 0 || len(end)-at < record {
		return fmt.Errorf("%w: no directory", ErrUnreadable)
	}
	length := int64(binary.LittleEndian.Uint32(end[at+12:]))
	offset := int64(binary.LittleEndian.Uint32(end[at+16:]))
	if length > maxDirectory || offset+length != size-int64(len(end)-at) {
		return fmt.Errorf("%w: its directory is too large or misplaced", ErrUnreadable)
	}
	return nil
}

// written returns the files with text, in reading order.
func written(files []*zip.File) []*zip.File {
	var found []*zip.File
	for _, f := range files {
		if rank(f.Name) > 0 {
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b *zip.File) int {
		if by := rank(a.Name) - rank(b.Name); by != 0 {
			return by
		}
		return number(a.Name) - number(b.Name)
	})
	return found
}

// rank orders the files with text; it is 0 for all other files. The shared strings of a workbook come
// before its sheets, which refer to them.
func rank(name string) int {
	dir, file := path.Split(name)
	kind := strings.TrimRight(strings.TrimSuffix(file, ".xml"), "0123456789")
	switch dir + kind {
	case "word/document", "content", "xl/sharedStrings", "ppt/slides/slide":
		return 1
	case "xl/worksheets/sheet", "word/footnotes", "ppt/notesSlides/notesSlide":
		return 2
	case "word/endnotes", "xl/comments":
		return 3
	case "word/comments":
		return 4
	case "word/header":
		return 5
	case "word/footer":
		return 6
	}
	return 0
}

// number is the number that a file's name ends in.
func number(name string) int {
	base := strings.TrimSuffix(path.Base(name), ".xml")
	digits := base[len(strings.TrimRight(base, "0123456789")):]
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// document is a document that is being read.
type document struct {
	b      strings.Builder
	left   int64    // bytes that may be unpacked
	shared []string // the shared strings of a workbook, by number
	sum    int      // their bytes
}

func (d *document) full() bool { return d.left <= 0 || d.b.Len() >= MaxText || d.sum >= MaxText }

func (d *document) text() string {
	text := d.b.String()
	if len(text) > MaxText {
		text = strings.ToValidUTF8(text[:MaxText], "")
	}
	return text
}

// part reads a file of the archive, up to its end or the first error in its XML.
func (d *document) part(f *zip.File) error {
	content, err := f.Open()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	defer func() { _ = content.Close() }()
	tokens := xml.NewDecoder(&counted{content, &d.left})
	tokens.Strict = false
	p := reading{document: d, kind: kindOf(f.Name)}
	for !d.full() {
		token, err := tokens.RawToken()
		if err != nil {
			break
		}
		switch t := token.(type) {
		case xml.StartElement:
			p.start(t)
		case xml.EndElement:
			p.end(t.Name.Local)
		case xml.CharData:
			p.chars(t)
		}
	}
	p.line()
	return nil
}

// counted is a reader that ends when the limit for unpacked bytes is reached.
type counted struct {
	io.Reader
	left *int64
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	if *c.left <= 0 {
		return 0, io.EOF
	}
	n, err := c.Reader.Read(p)
	*c.left -= int64(n)
	return n, err
}

// kind is the XML vocabulary of a file.
type kind int

const (
	prose  kind = iota // Office Open XML: text is in t, and p is a paragraph
	sheet              // of a workbook: v and t in c are cells, in row
	shared             // the shared strings of a workbook: each is an si
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
	in    int             // the nesting of elements that hold text
	cells int             // the nesting of OpenDocument cells
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

// between writes white space between texts.
func (p *reading) between(s string) {
	if p.kind == prose || p.kind == open {
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
