package sample

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"io"
	"time"

	"codeberg.org/go-pdf/fpdf"
)

// pdfSource makes a PDF with p as text (ISO 32000, WinAnsiEncoding).
func pdfSource(p paper) source {
	return func(w io.Writer) error {
		doc := newPDF(p)
		s := &pdfSurface{doc: doc, encode: doc.UnicodeTranslatorFromDescriptor("cp1252")}
		set(p, s)
		if err := doc.Output(w); err != nil {
			return fmt.Errorf("writing PDF %q: %w", p.title, err)
		}
		return nil
	}
}

// scannedPDFSource makes a PDF whose pages are images of p without text, as a
// scanner without text recognition sends them.
func scannedPDFSource(p paper, seed uint64) source {
	return func(w io.Writer) error {
		pages, err := scanPages(p, seed)
		if err != nil {
			return err
		}
		doc := newPDF(p)
		options := fpdf.ImageOptions{ImageType: "JPG"}
		for i, page := range pages {
			// Each page is a pixel narrower than the one before: fpdf orders images by their
			// width alone, and those of the same width at random.
			narrow := page.Bounds()
			narrow.Max.X -= i
			var buf bytes.Buffer
			if err := jpeg.Encode(&buf, page.SubImage(narrow), &jpeg.Options{Quality: scanQuality}); err != nil {
				return fmt.Errorf("writing page %d of PDF %q: %w", i+1, p.title, err)
			}
			name := fmt.Sprintf("page-%d", i+1)
			doc.RegisterImageOptionsReader(name, options, &buf)
			doc.AddPage()
			doc.ImageOptions(name, 0, 0, pageWidth, pageHeight, false, options, 0, "")
		}
		if err := doc.Output(w); err != nil {
			return fmt.Errorf("writing PDF %q: %w", p.title, err)
		}
		return nil
	}
}

// newPDF returns an A4 document without pages whose bytes depend on nothing but
// what is put into it.
func newPDF(p paper) *fpdf.Fpdf {
	doc := fpdf.New("P", "mm", "A4", "")
	doc.SetCatalogSort(true)
	doc.SetCreationDate(p.date.In(time.UTC))
	doc.SetModificationDate(p.date.In(time.UTC))
	doc.SetTitle(p.title, true)
	doc.SetAuthor(p.author, true)
	doc.SetLang("de-DE")
	doc.SetMargins(0, 0, 0)
	doc.SetAutoPageBreak(false, 0)
	return doc
}

// pdfSurface sets text in a PDF.
type pdfSurface struct {
	doc    *fpdf.Fpdf
	encode func(string) string // from UTF-8 to the font's encoding
}

func (s *pdfSurface) newPage() { s.doc.AddPage() }

func (s *pdfSurface) width(text string, f face) float64 {
	s.use(f)
	return s.doc.GetStringWidth(s.encode(text))
}

func (s *pdfSurface) text(x, y float64, text string, f face) {
	s.use(f)
	s.doc.Text(x, y, s.encode(text))
}

func (s *pdfSurface) rule(x1, x2, y float64) {
	s.doc.SetLineWidth(0.2)
	s.doc.Line(x1, y, x2, y)
}

func (s *pdfSurface) use(f face) {
	cut := ""
	if f.bold {
		cut = "B"
	}
	s.doc.SetFont("Helvetica", cut, f.size)
}
