// Package office tells what is written in documents of office programs: Office Open XML
// (ECMA-376) and OpenDocument (ISO/IEC 26300). Both are archives of XML, of which it reads the
// texts and nothing else, with bounds for what a small file may unpack to.
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

// ErrUnreadable says that nothing can be read of a document.
var ErrUnreadable = errors.New("the office document cannot be read")

const (
	// MaxText is how much text is taken of a document, in bytes.
	MaxText = 16 << 20
	// maxUnpacked is how much of it is unpacked, in bytes.
	maxUnpacked = 32 << 20
	// maxDirectory is the largest directory of an archive, in bytes: some 10,000 files.
	maxDirectory = 1 << 20
)

// Is reports whether documents of that media type can be read.
func Is(media string) bool {
	return strings.HasPrefix(media, "application/vnd.openxmlformats-officedocument.") ||
		strings.HasPrefix(media, "application/vnd.oasis.opendocument.")
}

// Text returns what is written in a document: paragraphs in lines, the cells of a row separated by
// tabs. Of more than MaxText it is the beginning. What cannot be read is ErrUnreadable.
func Text(r io.ReaderAt, size int64) (string, error) {
	return text(r, size, maxUnpacked)
}

// text is Text that unpacks at most so many bytes.
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

// checkDirectory refuses an archive whose directory is large, or may be: package zip reads all of
// it into memory. The last record of an archive says where its directory is (APPNOTE, 4.3.16).
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
		return fmt.Errorf("%w: a strange directory", ErrUnreadable)
	}
	return nil
}

// written returns the files that hold what people wrote, in the order in which they read it.
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

// rank tells the texts of a document from its other files, which are 0. The table of texts of a
// workbook comes before its sheets, which refer to it.
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
	shared []string // the texts of a workbook, by their number
	sum    int      // bytes of those
}

func (d *document) full() bool { return d.left <= 0 || d.b.Len() >= MaxText || d.sum >= MaxText }

func (d *document) text() string {
	text := d.b.String()
	if len(text) > MaxText {
		text = strings.ToValidUTF8(text[:MaxText], "")
	}
	return text
}

// part reads a file of the archive. One that ends in the middle, or is no XML any more, has the
// text before that.
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

// counted ends when no more may be unpacked.
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
