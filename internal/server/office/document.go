package office

import (
	"archive/zip"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

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
