package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"codeberg.org/go-pdf/fpdf"

	"github.com/archivefs/archivefs/internal/server/inspect"
)

// maxSource is the largest content that is rendered, in bytes; it is held in memory.
const maxSource = 64 << 20

// Source is a document to be rendered.
type Source struct {
	Content     io.Reader
	Size        int64
	ContentType string
	Name        string
}

// errUnreadable says that a content gets the cover page.
var errUnreadable = errors.New("content cannot be rendered")

// Variants names the renditions that a source may get, the best first. Those of other
// sources with the same content may be shared when the variant is the same. A number tells
// them from those that were made in another way before.
func Variants(s Source) []string {
	cover := "cover " + s.ContentType + " " + s.Name
	if class := class(s); class != "" {
		return []string{"pdf 2 " + class, cover}
	}
	return []string{cover}
}

// PDF writes the PDF and returns its variant.
func PDF(w io.Writer, s Source) (variant string, err error) {
	variants := Variants(s)
	if class := class(s); class != "" {
		pdf, err := content(class, s)
		if err == nil {
			return variants[0], output(w, pdf)
		}
		if !errors.Is(err, errUnreadable) {
			return "", err
		}
	}
	return variants[len(variants)-1], output(w, cover(s))
}

// class tells how a content is rendered, empty when only as a cover page.
func class(s Source) string {
	media, _, _ := strings.Cut(s.ContentType, ";")
	switch {
	case media == inspect.PDF:
		return "pdf"
	case media == inspect.TIFF && s.Size <= maxSource:
		return "tiff"
	case isImage(media) && s.Size <= maxSource:
		return "image"
	case inspect.Paged(s.ContentType, s.Size):
		return "words " + s.ContentType
	}
	return ""
}

func isImage(media string) bool {
	switch media {
	case "image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp":
		return true
	}
	return false
}

// content renders what is in the document. The decoders are fed with what strangers
// upload: a panic in one of them makes the content unreadable, no more.
func content(class string, s Source) (pdf *fpdf.Fpdf, err error) {
	read := &failing{Reader: s.Content}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errUnreadable, cause)
		}
		if read.err != nil {
			err = fmt.Errorf("read content: %w", read.err)
		}
	}()
	switch class {
	case "tiff":
		pdf, err = tiffPages(read)
	case "image":
		pdf, err = imagePage(read)
	default:
		pdf, err = wordPages(read, s.ContentType)
	}
	if err == nil && pdf.Err() {
		err = pdf.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return pdf, nil
}

// failing remembers the error of a reader, which is not the content's fault.
type failing struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (f *failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && err != io.EOF {
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
