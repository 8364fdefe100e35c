// Package render makes PDFs of other documents: images get a page each, texts and e-mails are set in a
// fixed-width font, and anything else gets a cover page with its name, type and size. Rendering never
// fails because of the content: unreadable content gets the cover page. The same source does not
// always give the same bytes, so a caller that promises an ETag must keep the PDF.
package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"codeberg.org/go-pdf/fpdf"
	"github.com/dustin/go-humanize"
	"golang.org/x/image/font/gofont/gomono"

	"github.com/archivefs/archivefs/internal/server/engine"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/office"
	"github.com/archivefs/archivefs/internal/server/poppler"
	"github.com/archivefs/archivefs/internal/server/text"
)

const (
	// maxSource is the largest content that is rendered, in bytes; it is held in memory.
	maxSource = 64 << 20
	// maxTIFF is that of a TIFF, which libtiff reads from a file.
	maxTIFF = 512 << 20
)

// Source is a document to be rendered.
type Source struct {
	Content     io.Reader
	Size        int64
	ContentType string
	Name        string
}

// Variants names the renditions that a source may get, the best first. Sources with the same content
// and variant can share a rendition. The number in a variant changes with the way of rendering.
func Variants(s Source) []string {
	cover, class := Cover(s), class(s)
	switch {
	case class == "":
		return []string{cover}
	case class == laidOut && engine.Need("soffice") == nil, class == tiffs && engine.Need("tiff2pdf") == nil,
		class == photos && engine.Need("heif-convert") == nil:
		cover = unreadable + cover // a cover of before is of no use
	}
	return []string{faithful + class, cover}
}

// Cover is the variant of a cover page that stands for what a program had no time for: a machine that is less busy may
// manage it, so it is none of the Variants where that program is installed.
func Cover(s Source) string { return "cover " + s.ContentType + " " + s.Name }

const (
	// faithful begins a variant that shows the content, and unreadable that of one of which the program can make nothing.
	faithful   = "pdf 2 "
	unreadable = "unreadable: "
)

// PDF writes the PDF and returns its variant.
func PDF(ctx context.Context, w io.Writer, s Source) (variant string, err error) {
	variants := Variants(s)
	if class(s) != "" {
		if err = shown(ctx, w, s); err == nil {
			return variants[0], nil
		}
		if !errors.Is(err, engine.ErrMissing) && !errors.Is(err, engine.ErrUnreadable) && !errors.Is(err, engine.ErrTooSlow) {
			return "", err
		}
	}
	variant = variants[len(variants)-1]
	if errors.Is(err, engine.ErrTooSlow) {
		variant = Cover(s)
	}
	return variant, output(w, cover(s))
}

// shown writes a PDF that shows the content.
func shown(ctx context.Context, w io.Writer, s Source) error {
	class := class(s)
	var pdf []byte
	err := fmt.Errorf("%w: it is large", engine.ErrUnreadable)
	if class == photos {
		picture, err := engine.HEIC(ctx, s.Content)
		if err != nil {
			return err
		}
		picture = bytes.Replace(picture, []byte(exifMark), make([]byte, len(exifMark)), 1) // it is upright, whatever that says
		class, s = images, Source{Content: bytes.NewReader(picture), Size: int64(len(picture))}
	}
	switch {
	case class == laidOut:
		pdf, err = engine.PDF(ctx, s.Content)
	case s.Size <= maxSource:
		made, failed := content(class, s)
		if failed == nil {
			return output(w, made)
		}
		err = failed
	}
	if class == tiffs && errors.Is(err, engine.ErrUnreadable) {
		pdf, err = rareTIFF(ctx, s)
	}
	if err == nil {
		_, err = w.Write(pdf)
	}
	return err
}

// class is the way a content is rendered, empty for a cover page only.
func class(s Source) string {
	media, _, _ := strings.Cut(s.ContentType, ";")
	switch {
	case media == inspect.PDF:
		return "pdf"
	case media == inspect.TIFF && s.Size <= maxTIFF:
		return tiffs
	case slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp"}, media) && s.Size <= maxSource:
		return images
	case slices.Contains([]string{"image/heic", "image/heif", "image/avif"}, media) && s.Size <= maxSource:
		return photos
	case inspect.Paged(s.ContentType, s.Size):
		return "words " + s.ContentType
	case (office.Is(media) && media != office.Book || engine.ReadsOld(media)) && s.Size <= maxSource:
		return laidOut
	}
	return ""
}

const (
	// laidOut is the class of office files, which LibreOffice lays out.
	laidOut = "office"
	// tiffs is the class of TIFFs, which libtiff reads when we cannot.
	tiffs = "tiff to scale"
	// photos is the class of pictures of phones, which libheif reads.
	photos = "photo"
	// images is the class of other pictures.
	images = "image to scale"
)

// LaidOut reports whether a variant is the PDF of an office file, which tells how many pages it has.
func LaidOut(variant string) bool { return variant == faithful+laidOut }

// content renders the content of a document. A panic in a decoder, which a malicious file may cause,
// only makes the content unreadable.
func content(class string, s Source) (pdf *fpdf.Fpdf, err error) {
	read := &failing{Reader: s.Content}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", engine.ErrUnreadable, cause)
		}
		if read.err != nil {
			err = fmt.Errorf("read content: %w", read.err)
		}
	}()
	switch class {
	case tiffs:
		pdf, err = tiffPages(read)
	case images:
		pdf, err = imagePage(read)
	default:
		pdf, err = wordPages(read, s.ContentType)
	}
	if err == nil && pdf.Err() {
		err = pdf.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", engine.ErrUnreadable, err)
	}
	return pdf, nil
}

// failing remembers the error of a reader, which is not the content's fault.
type failing struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (f *failing) Read(p []byte) (int, error) { return f.noted(f.Reader.Read(p)) }

// ReadAt implements io.ReaderAt, of a reader that does.
func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	return f.noted(f.Reader.(io.ReaderAt).ReadAt(p, off)) //nolint:forcetypeassert // see officeText
}

func (f *failing) noted(n int, err error) (int, error) {
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

func newPDF() *fpdf.Fpdf {
	pdf := fpdf.New("P", "mm", "A4", "")
	pdf.SetProducer("archivefs", true)
	return pdf
}

// output writes a PDF whole or not at all.
func output(w io.Writer, pdf *fpdf.Fpdf) error {
	var buf bytes.Buffer
	if err := pdf.Output(&buf); err != nil {
		return fmt.Errorf("make PDF: %w", err)
	}
	if _, err := buf.WriteTo(w); err != nil {
		return fmt.Errorf("write PDF: %w", err)
	}
	return nil
}

// maxWords is how much of a text is read, in bytes.
const maxWords = 16 << 20

// Recognised is the name under which a text is stored of which a part was recognised.
const Recognised = "recognised 1"

// Scanned reports whether pages of a source may have a text that must be recognised, as Text does not have it.
func Scanned(s Source, text []byte) bool {
	switch class(s) {
	case tiffs, images, photos:
		return true
	case "pdf":
		return slices.ContainsFunc(bytes.Split(text, []byte("\f")), Blank)
	}
	return false
}

// Blank reports whether a page has no text.
func Blank(page []byte) bool { return len(bytes.TrimSpace(page)) == 0 }

// TextVariant is the name under which the extracted text of a source is stored. It is empty if
// extracting it again is cheaper.
func TextVariant(s Source) string {
	media, _, _ := strings.Cut(s.ContentType, ";")
	switch {
	case media == inspect.PDF, media == inspect.Mail, media == "text/html", office.Is(media):
		return "text 1 " + media
	}
	return ""
}

// Text returns the text of a document in UTF-8, its pages separated by form feeds: of PDFs with text,
// texts of any kind, e-mails and office documents. It is nil for other contents, and depends only on content,
// size and content type. A huge text is cut off. It has no NUL, which databases do not accept. The error is
// engine.ErrMissing if a program is not installed, engine.ErrUnreadable, or engine.ErrTooSlow.
func Text(ctx context.Context, s Source) ([]byte, error) {
	words, err := words(ctx, s)
	if bytes.IndexByte(words, 0) >= 0 {
		words = bytes.ReplaceAll(words, []byte{0}, []byte("\ufffd"))
	}
	return words, err
}

func words(ctx context.Context, s Source) ([]byte, error) {
	switch {
	case s.ContentType == inspect.PDF:
		return pdfText(ctx, s.Content)
	case inspect.Wordy(s.ContentType):
		return wordText(s)
	case (office.Is(s.ContentType) || engine.ReadsOld(s.ContentType)) && s.Size <= maxSource:
		text, err := officeText(s)
		if errors.Is(err, engine.ErrUnreadable) && engine.ReadsOld(s.ContentType) {
			text, err = oldText(ctx, s)
		}
		return bytes.ReplaceAll(text, []byte("\f"), []byte("\n")), err
	}
	return nil, nil
}

// oldText returns the text of an old office document, read by catdoc or LibreOffice.
func oldText(ctx context.Context, s Source) ([]byte, error) {
	text, err := engine.OldText(ctx, s.Content, s.ContentType)
	if errors.Is(err, engine.ErrMissing) && engine.Need("soffice") == nil {
		var pdf []byte
		if pdf, err = engine.PDF(ctx, s.Content); err == nil {
			return poppler.Text(ctx, bytes.NewReader(pdf))
		}
	}
	return text, err
}

// officeText returns the text of an office document.
func officeText(s Source) ([]byte, error) {
	read := &failing{Reader: s.Content}
	if _, is := s.Content.(io.ReaderAt); !is {
		data, err := io.ReadAll(io.LimitReader(s.Content, maxSource))
		if err != nil {
			return nil, fmt.Errorf("read content: %w", err)
		}
		read.Reader = bytes.NewReader(data)
	}
	words, err := office.Text(read, s.Size, s.ContentType)
	switch {
	case read.err != nil:
		return nil, fmt.Errorf("read content: %w", read.err)
	case errors.Is(err, office.ErrUnreadable):
		err = fmt.Errorf("%w: %w", engine.ErrUnreadable, err)
	}
	return []byte(words), err
}

// wordText returns the text of a text or an e-mail, in pages if it is laid out on pages.
func wordText(s Source) ([]byte, error) {
	words, err := inspect.Words(s.Content, s.ContentType, maxWords)
	if errors.Is(err, office.ErrUnreadable) {
		return nil, fmt.Errorf("%w: %w", engine.ErrUnreadable, err)
	}
	if err != nil {
		return nil, err
	}
	var sources []string
	if inspect.Paged(s.ContentType, s.Size) {
		for _, page := range text.Pages(words) {
			sources = append(sources, page.Source)
		}
	}
	if sources == nil {
		return []byte(strings.ReplaceAll(words, "\f", "\n")), nil
	}
	return []byte(strings.Join(sources, "\f")), nil
}

// pdfText extracts the text of a PDF, nil if it has none, as a scan without OCR.
func pdfText(ctx context.Context, pdf io.Reader) ([]byte, error) {
	words, err := poppler.Text(ctx, pdf)
	if err != nil || Blank(words) {
		return nil, err
	}
	return bytes.TrimSuffix(words, []byte("\f")), nil
}

// MostRecognised is how many pages of a document are recognised.
const MostRecognised = 200

// side is the longer side of an A4 page of engine.Resolution, in pixels.
const side = 3508

// Recognise returns the text of a source whose pages without a text are recognised; before each it calls next.
// The error is engine.ErrMissing if a program is not installed, engine.ErrUnreadable if there is no text for that reason,
// or engine.ErrTooSlow.
func Recognise(ctx context.Context, s Source, next func() error) ([]byte, error) {
	if class(s) != "pdf" {
		var pdf bytes.Buffer
		if err := shown(ctx, &pdf, s); err != nil {
			return nil, err
		}
		s.Content = bytes.NewReader(pdf.Bytes())
	}
	pdf, done, err := engine.File(s.Content)
	if err != nil {
		return nil, err
	}
	defer done()
	words, err := poppler.Text(ctx, pdf)
	if err != nil {
		return nil, err
	}
	pages := bytes.Split(bytes.TrimSuffix(words, []byte("\f")), []byte("\f"))
	var failed error
	for n, left := 0, MostRecognised; n < len(pages) && left > 0; n++ {
		if !Blank(pages[n]) {
			continue
		}
		left--
		if err := next(); err != nil {
			return nil, err
		}
		picture, err := poppler.Page(ctx, pdf, n, side)
		if err == nil {
			pages[n], err = engine.Recognise(ctx, picture)
		}
		switch {
		case errors.Is(err, engine.ErrUnreadable):
			failed = err
		case err != nil: // also engine.ErrTooSlow: the page would have no text for good
			return nil, err
		}
	}
	if words = bytes.Join(pages, []byte("\f")); Blank(words) {
		return nil, failed
	}
	return bytes.ReplaceAll(words, []byte{0}, []byte("\ufffd")), nil
}

// A page of text.Rows rows of text.Columns characters fills A4. A character is 0.6 times as wide as it is high.
const (
	fontFamily = "gomono"
	fontSize   = 9   // points
	lineHeight = 4.2 // mm
	margin     = 13  // mm, on the left and above
)

// addFont gives a document a copy of the font, because fpdf writes to its bytes.
func addFont(pdf *fpdf.Fpdf) { pdf.AddUTF8FontFromBytes(fontFamily, "", bytes.Clone(gomono.TTF)) }

// wordPages sets a text or an e-mail. The font has Latin, Greek and Cyrillic letters; what it lacks is shown as a box.
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
	addFont(pdf)
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

// settable replaces what the font's encoding cannot express: control characters, and anything beyond
// the Basic Multilingual Plane.
func settable(line string) string {
	return strings.Map(func(r rune) rune {
		if r > 0xffff || r < ' ' || r == 0x7f {
			return utf8.RuneError
		}
		return r
	}, line)
}

// cover makes a page with the name, type and size of a document.
func cover(s Source) *fpdf.Fpdf {
	pdf := newPDF()
	addFont(pdf)
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
