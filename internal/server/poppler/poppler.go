package poppler

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// maxText is how much of the text of a PDF is taken, in bytes.
	maxText = 16 << 20
	// maxPicture is the largest picture of a page, in bytes.
	maxPicture = 64 << 20
	// maxTold is how much is said about a PDF, in bytes: its title, author and so on.
	maxTold = 1 << 20
	// leastSide is the smallest picture that is drawn, in pixels.
	leastSide = 64
	// MostSide is the longest side of a picture that is drawn: A4 at 340 dpi.
	MostSide = 4000
)

// Text returns the text of a PDF in UTF-8. Each page ends with a form feed. Of more than 16 MiB it
// is the beginning.
func Text(ctx context.Context, pdf io.Reader) ([]byte, error) {
	text, _, err := run(ctx, pdf, maxText, "pdftotext", "-q", "-enc", "UTF-8", input, "-")
	if err != nil {
		return nil, fmt.Errorf("text of PDF: %w", err)
	}
	return bytes.ToValidUTF8(text, []byte("\ufffd")), nil
}

// Pages counts the pages of a PDF.
func Pages(ctx context.Context, pdf io.Reader) (int, error) {
	told, _, err := run(ctx, pdf, maxTold, "pdfinfo", input)
	if err != nil {
		return 0, fmt.Errorf("count pages of PDF: %w", err)
	}
	for line := range strings.Lines(string(told)) {
		if number, is := strings.CutPrefix(line, "Pages:"); is {
			if pages, err := strconv.Atoi(strings.TrimSpace(number)); err == nil && pages > 0 {
				return pages, nil
			}
		}
	}
	return 0, fmt.Errorf("count pages of PDF: %w", ErrUnreadable)
}

// Page draws a page of a PDF, counted from 0, as a JPEG whose longer side is about so many
// pixels, within bounds of its own.
func Page(ctx context.Context, pdf io.Reader, page, side int) ([]byte, error) {
	number := strconv.Itoa(page + 1)
	picture, whole, err := run(ctx, pdf, maxPicture, "pdftoppm", "-q", "-cropbox", "-jpeg", "-jpegopt", "quality=90",
		"-f", number, "-l", number, "-scale-to", strconv.Itoa(min(max(side, leastSide), MostSide)), input)
	if err == nil && (!whole || len(picture) == 0) {
		err = ErrUnreadable
	}
	if err != nil {
		return nil, fmt.Errorf("draw page %s of PDF: %w", number, err)
	}
	return picture, nil
}
