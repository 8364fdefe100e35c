// Package poppler draws pages of PDFs, extracts their text and counts their pages, with the programs of poppler-utils,
// run by package engine: errors are engine.ErrMissing, engine.ErrUnreadable and engine.ErrTooSlow.
package poppler

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/internal/server/engine"
)

const (
	// maxText is the longest text that is extracted, in bytes.
	maxText = 16 << 20
	// maxPicture is the largest picture of a page, in bytes.
	maxPicture = 64 << 20
	// maxInfo bounds the output of pdfinfo (title, author and so on), in bytes.
	maxInfo = 1 << 20
	// leastSide is the smallest picture that is drawn, in pixels.
	leastSide = 64
	// MostSide is the longest side of a picture that is drawn: A4 at 340 dpi.
	MostSide = 4000
)

// Text returns the text of a PDF in UTF-8. Each page ends with a form feed. A text longer than 16 MiB is cut off.
func Text(ctx context.Context, pdf io.Reader) ([]byte, error) {
	text, _, err := run(ctx, pdf, maxText, "pdftotext", "-q", "-enc", "UTF-8", engine.Input, "-")
	if err != nil {
		return nil, fmt.Errorf("text of PDF: %w", err)
	}
	return bytes.ToValidUTF8(text, []byte("\ufffd")), nil
}

// Pages counts the pages of a PDF.
func Pages(ctx context.Context, pdf io.Reader) (int, error) {
	info, _, err := run(ctx, pdf, maxInfo, "pdfinfo", engine.Input)
	if err != nil {
		return 0, fmt.Errorf("count pages of PDF: %w", err)
	}
	for line := range strings.Lines(string(info)) {
		if number, is := strings.CutPrefix(line, "Pages:"); is {
			if pages, err := strconv.Atoi(strings.TrimSpace(number)); err == nil && pages > 0 {
				return pages, nil
			}
		}
	}
	return 0, fmt.Errorf("count pages of PDF: %w", engine.ErrUnreadable)
}

// Page draws a page of a PDF, counted from 0, as a JPEG. Its longer side has about side pixels, from
// leastSide to MostSide.
func Page(ctx context.Context, pdf io.Reader, page, side int) ([]byte, error) {
	number := strconv.Itoa(page + 1)
	picture, whole, err := run(ctx, pdf, maxPicture, "pdftoppm", "-q", "-cropbox", "-jpeg", "-jpegopt", "quality=90",
		"-f", number, "-l", number, "-scale-to", strconv.Itoa(min(max(side, leastSide), MostSide)), engine.Input)
	if err == nil && (!whole || len(picture) == 0) {
		err = engine.ErrUnreadable
	}
	if err != nil {
		return nil, fmt.Errorf("draw page %s of PDF: %w", number, err)
	}
	return picture, nil
}

// run runs a program with a PDF. It returns at most limit bytes of its output, and whether that is all of it.
func run(ctx context.Context, pdf io.Reader, limit int, program string, args ...string) (out []byte, whole bool, err error) {
	within := engine.Usual
	within.Output = limit
	return engine.Run(ctx, within, pdf, program, args...)
}
