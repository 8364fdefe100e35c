package render

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"codeberg.org/go-pdf/fpdf"
	"github.com/dustin/go-humanize"
	"golang.org/x/image/font/gofont/gomono"

	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/text"
)

// A page of text.Rows rows of text.Columns characters fills A4. A character is 0.6 times as wide
// as it is high.
const (
	fontFamily = "gomono"
	fontSize   = 9   // points
	lineHeight = 4.2 // mm
	margin     = 13  // mm, on the left and above
)

// wordPages sets a text or an e-mail. The font has Latin, Greek and Cyrillic letters; what it lacks
// is shown as a box.
func wordPages(r io.Reader, contentType string) (*fpdf.Fpdf, error) {
	words, err := inspect.Words(r, contentType, inspect.MaxText)
	if err != nil {
		return nil, err
	}
	pages := text.Pages(words)
	if pages == nil {
		return nil, errors.New("a text of too many pages")
	}
	pdf := newPDF()
	pdf.SetAutoPageBreak(false, 0)
	pdf.AddUTF8FontFromBytes(fontFamily, "", gomono.TTF)
	pdf.SetFont(fontFamily, "", fontSize)
	for _, page := range pages {
		pdf.AddPage()
		for i, row := range page.Rows {
			if row != "" {
				pdf.Text(margin, margin+lineHeight*float64(i+1), settable(row))
			}
		}
	}
	return pdf, nil
}

// settable keeps what the font's encoding can say: no control characters, nothing beyond
// the Basic Multilingual Plane.
func settable(line string) string {
	return strings.Map(func(r rune) rune {
		if r > 0xffff || r < ' ' || r == 0x7f {
			return utf8.RuneError
		}
		return r
	}, line)
}

// cover makes a page that says what a document is.
func cover(s Source) *fpdf.Fpdf {
	pdf := newPDF()
	pdf.AddUTF8FontFromBytes(fontFamily, "", gomono.TTF)
	pdf.AddPage()
	pdf.SetFont(fontFamily, "", 2*fontSize)
	pdf.MultiCell(0, 2*lineHeight, settable(s.Name), "", "L", false)
	pdf.Ln(lineHeight)
	pdf.SetFont(fontFamily, "", fontSize)
	size := fmt.Sprintf("%s (%s bytes)", humanize.IBytes(uint64(max(0, s.Size))), humanize.Comma(s.Size))
	pdf.MultiCell(0, lineHeight, settable("Type: "+s.ContentType), "", "L", false)
	pdf.MultiCell(0, lineHeight, settable("Size: "+size), "", "L", false)
	return pdf
}
