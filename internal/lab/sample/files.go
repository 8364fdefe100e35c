package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"io"
	"math"
	"math/rand/v2"
	"mime"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"github.com/emersion/go-message"
	"github.com/emersion/go-message/mail"
	"github.com/xuri/excelize/v2"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/tiff"
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

// scannedPDFSource makes a PDF whose pages are images of p without text, as from a
// scanner without OCR.
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

const (
	rasterDPI   = 100
	pixelsPerMM = rasterDPI / 25.4
	inkGray     = 0x28
	paperGray   = 0xf2
)

// raster sets text on page images. The first error stays in err.
type raster struct {
	regular, bold *opentype.Font
	faces         map[face]font.Face
	pages         []*image.Gray
	err           error
}

func newRaster() (*raster, error) {
	regular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, fmt.Errorf("reading the regular font: %w", err)
	}
	bold, err := opentype.Parse(gobold.TTF)
	if err != nil {
		return nil, fmt.Errorf("reading the bold font: %w", err)
	}
	return &raster{regular: regular, bold: bold, faces: make(map[face]font.Face)}, nil
}

func (s *raster) newPage() {
	page := image.NewGray(image.Rect(0, 0, pixels(pageWidth), pixels(pageHeight)))
	for i := range page.Pix {
		page.Pix[i] = paperGray
	}
	s.pages = append(s.pages, page)
}

func (s *raster) width(text string, f face) float64 {
	cut := s.face(f)
	if cut == nil {
		return 0
	}
	return float64(font.MeasureString(cut, text)) / 64 / pixelsPerMM
}

func (s *raster) text(x, y float64, text string, f face) {
	cut := s.face(f)
	if cut == nil {
		return
	}
	d := font.Drawer{
		Dst:  s.pages[len(s.pages)-1],
		Src:  image.NewUniform(color.Gray{Y: inkGray}),
		Face: cut,
		Dot:  fixed.P(pixels(x), pixels(y)),
	}
	d.DrawString(text)
}

func (s *raster) rule(x1, x2, y float64) {
	line := image.Rect(pixels(x1), pixels(y), pixels(x2), pixels(y)+1)
	draw.Draw(s.pages[len(s.pages)-1], line, image.NewUniform(color.Gray{Y: inkGray}), image.Point{}, draw.Src)
}

// face returns the font face for f, nil after an error.
func (s *raster) face(f face) font.Face {
	if cut, ok := s.faces[f]; ok {
		return cut
	}
	family := s.regular
	if f.bold {
		family = s.bold
	}
	cut, err := opentype.NewFace(family, &opentype.FaceOptions{Size: f.size, DPI: rasterDPI})
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("font of %g points: %w", f.size, err)
	}
	if err != nil {
		return nil
	}
	s.faces[f] = cut
	return cut
}

func pixels(mm float64) int { return int(math.Round(mm * pixelsPerMM)) }

const scanQuality = 50 // JPEG, of 100

// jpegSource makes a grayscale JPEG of p, which must fit one page.
func jpegSource(p paper, seed uint64) source {
	return func(w io.Writer) error {
		page, err := scanPage(p, seed)
		if err != nil {
			return err
		}
		if err := jpeg.Encode(w, page, &jpeg.Options{Quality: scanQuality}); err != nil {
			return fmt.Errorf("writing JPEG %q: %w", p.title, err)
		}
		return nil
	}
}

// tiffSource makes a grayscale TIFF of p (TIFF 6.0), which must fit one page. It is uncompressed, as many scanners
// write it.
func tiffSource(p paper, seed uint64) source {
	return func(w io.Writer) error {
		page, err := scanPage(p, seed)
		if err != nil {
			return err
		}
		if err := tiff.Encode(w, page, nil); err != nil {
			return fmt.Errorf("writing TIFF %q: %w", p.title, err)
		}
		return nil
	}
}

// scanPage returns the image of a paper of one page.
func scanPage(p paper, seed uint64) (*image.Gray, error) {
	pages, err := scanPages(p, seed)
	if err != nil {
		return nil, err
	}
	if len(pages) != 1 {
		return nil, fmt.Errorf("scanning %q: %d pages do not fit one image", p.title, len(pages))
	}
	return pages[0], nil
}

// scanPages returns images of the pages of p as a scanner sees them: laid on a little askew. The seed decides how.
func scanPages(p paper, seed uint64) ([]*image.Gray, error) {
	s, err := newRaster()
	if err != nil {
		return nil, fmt.Errorf("scanning %q: %w", p.title, err)
	}
	set(p, s)
	if s.err != nil {
		return nil, fmt.Errorf("scanning %q: %w", p.title, s.err)
	}
	rnd := newRandom(seed)
	for i, page := range s.pages {
		s.pages[i] = askew(page, rnd)
	}
	return s.pages, nil
}

// askew returns page as scanned: columns shifted by a slope of at most 1 %. It has no grain, because that would make
// the packed archive four times as large.
func askew(page *image.Gray, rnd *rand.Rand) *image.Gray {
	b := page.Bounds()
	slope := (rnd.Float64() - 0.5) / 50
	out := image.NewGray(b)
	for y := range b.Dy() {
		for x := range b.Dx() {
			gray := uint8(paperGray)
			if from := y - int(float64(x)*slope); from >= 0 && from < b.Dy() {
				gray = page.Pix[from*page.Stride+x]
			}
			out.Pix[y*out.Stride+x] = gray
		}
	}
	return out
}

// sheet is a workbook of one sheet: a head, rows, and below the numeric columns
// their sums as formulas.
type sheet struct {
	name   string // of the sheet in the workbook
	author string
	date   time.Time
	head   []string
	rows   [][]any // strings and numbers
	sums   []int   // columns with a sum, from 0
}

// sheetSource makes an Office Open XML workbook (ECMA-376).
func sheetSource(s sheet) source {
	return func(w io.Writer) (err error) {
		f := excelize.NewFile()
		defer func() {
			if closeErr := f.Close(); err == nil {
				err = closeErr
			}
			if err != nil {
				err = fmt.Errorf("writing workbook %q: %w", s.name, err)
			}
		}()
		if err := f.SetSheetName("Sheet1", s.name); err != nil {
			return err
		}
		if err := s.properties(f); err != nil {
			return err
		}
		if err := s.fill(f); err != nil {
			return err
		}
		return f.Write(w)
	}
}

// properties sets the document properties; without dates the library's own would show.
func (s sheet) properties(f *excelize.File) error {
	at := s.date.UTC().Format(time.RFC3339)
	return f.SetDocProps(&excelize.DocProperties{
		Creator: s.author, LastModifiedBy: s.author, Title: s.name,
		Created: at, Modified: at, Language: "de-DE",
	})
}

func (s sheet) fill(f *excelize.File) error {
	if err := f.SetSheetRow(s.name, "A1", &s.head); err != nil {
		return err
	}
	for i := range s.rows {
		if err := f.SetSheetRow(s.name, cellName(0, i+1), &s.rows[i]); err != nil {
			return err
		}
	}
	last := len(s.rows)
	for _, c := range s.sums {
		formula := fmt.Sprintf("SUM(%s:%s)", cellName(c, 1), cellName(c, last))
		if err := f.SetCellFormula(s.name, cellName(c, last+1), formula); err != nil {
			return err
		}
	}
	bold, err := f.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}})
	if err != nil {
		return err
	}
	if err := f.SetRowStyle(s.name, 1, 1, bold); err != nil {
		return err
	}
	return f.SetColWidth(s.name, "A", "H", 18)
}

// cellName returns the name of a cell, "A1" for column 0 and row 0.
func cellName(column, row int) string {
	return fmt.Sprintf("%c%d", 'A'+column, row+1)
}

// textSource makes a plain text file in UTF-8 with the line ends of a German office
// (CR LF).
func textSource(text string) source {
	return func(w io.Writer) error {
		if _, err := io.WriteString(w, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
			return fmt.Errorf("writing text: %w", err)
		}
		return nil
	}
}

// csvSource makes a list with semicolons between its fields, as German spreadsheets
// write it (RFC 4180 but for the separator).
func csvSource(records [][]string) source {
	return func(w io.Writer) error {
		list := csv.NewWriter(w)
		list.Comma = ';'
		list.UseCRLF = true
		if err := list.WriteAll(records); err != nil {
			return fmt.Errorf("writing list: %w", err)
		}
		return nil
	}
}

// mailMessage is an e-mail with attachments.
type mailMessage struct {
	from, to    mail.Address
	date        time.Time
	subject     string
	text        string // "\n" ends a line
	attachments []attachment
}

// attachment is a file that goes with an e-mail.
type attachment struct {
	name        string
	contentType string // media type, RFC 6838
	content     source
}

// mailSource makes an e-mail (RFC 5322, multipart/mixed of RFC 2046) with its text in
// UTF-8 and its attachments in base64.
func mailSource(m mailMessage) source {
	return func(w io.Writer) error {
		// Message-ID and boundary are made of the date: random ones would change the bytes.
		mark := m.date.UTC().Format("20060102150405")
		var h mail.Header
		h.SetAddressList("From", []*mail.Address{&m.from})
		h.SetAddressList("To", []*mail.Address{&m.to})
		h.SetDate(m.date)
		h.SetSubject(m.subject)
		_, host, _ := strings.Cut(m.from.Address, "@")
		h.SetMessageID(mark + "@" + host)
		h.SetContentType("multipart/mixed", map[string]string{"boundary": "teil-" + mark})
		mw, err := message.CreateWriter(w, h.Header)
		if err != nil {
			return fmt.Errorf("writing e-mail %q: %w", m.subject, err)
		}
		if err := m.writeText(mw); err != nil {
			return fmt.Errorf("writing e-mail %q: %w", m.subject, err)
		}
		for _, a := range m.attachments {
			if err := a.write(mw); err != nil {
				return fmt.Errorf("writing e-mail %q: attachment %q: %w", m.subject, a.name, err)
			}
		}
		if err := mw.Close(); err != nil {
			return fmt.Errorf("writing e-mail %q: %w", m.subject, err)
		}
		return nil
	}
}

func (m mailMessage) writeText(mw *message.Writer) error {
	var h message.Header
	h.SetContentType("text/plain", map[string]string{"charset": "utf-8"})
	h.SetContentDisposition("inline", nil)
	h.Set("Content-Transfer-Encoding", "quoted-printable")
	text := strings.ReplaceAll(m.text, "\n", "\r\n") + "\r\n"
	return writePart(mw, h, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

func (a attachment) write(mw *message.Writer) error {
	var h message.Header
	h.SetContentType(a.contentType, nil)
	// Not SetFilename: that puts an encoded word into the parameter (against RFC 2047,
	// section 5), where RFC 2231 has a form of its own.
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.name}))
	h.Set("Content-Transfer-Encoding", "base64")
	return writePart(mw, h, a.content)
}

// writePart adds one part with its content to a multipart message.
func writePart(mw *message.Writer, h message.Header, content source) error {
	part, err := mw.CreatePart(h)
	if err != nil {
		return err
	}
	if err := content(part); err != nil {
		return err
	}
	return part.Close()
}
