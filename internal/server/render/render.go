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
// sources with the same content may be shared when the variant is the same.
func Variants(s Source) []string {
	cover := "cover " + s.ContentType + " " + s.Name
	if class := class(s); class != "" {
		return []string{class, cover}
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
	case s.Size > maxSource:
		return ""
	case media == inspect.TIFF:
		return "tiff"
	case media == "image/jpeg", media == "image/png", media == "image/gif", media == "image/webp", media == "image/bmp":
		return "image"
	case s.Size > maxText:
		return ""
	case media == inspect.Mail:
		return "mail"
	case strings.HasPrefix(media, "text/"), media == "application/json":
		return "text"
	}
	return ""
}

// content renders what is in the document. The decoders are fed with what strangers
// upload: a panic in one of them makes the content unreadable, no more.
func content(class string, s Source) (pdf *fpdf.Fpdf, err error) {
	data, err := io.ReadAll(io.LimitReader(s.Content, maxSource))
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errUnreadable, cause)
		}
	}()
	switch class {
	case "tiff":
		pdf, err = tiffPages(data)
	case "image":
		pdf, err = imagePage(data)
	case "mail":
		pdf, err = mailPages(data)
	default:
		pdf, err = textPages(decodeText(data))
	}
	if err == nil && pdf.Err() {
		err = pdf.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return pdf, nil
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
