package inspect

import "io"

// Media types that are treated apart.
const (
	PDF  = "application/pdf"
	Mail = "message/rfc822"
	TIFF = "image/tiff"
)

// maxParsed is the largest content that is parsed for its pages, in bytes.
const maxParsed = 64 << 20

// Hint is what a client says about a content.
type Hint struct {
	Name        string // of the file
	ContentType string
}

// Result is what was found out.
type Result struct {
	ContentType string // media type with parameters
	Pages       int    // at least 1
}

// Content looks at a content of size bytes.
func Content(r io.ReaderAt, size int64, hint Hint) Result {
	result := Result{ContentType: contentType(r, hint), Pages: 1}
	if size > maxParsed {
		return result
	}
	switch result.ContentType {
	case PDF:
		result.Pages = pdfPages(io.NewSectionReader(r, 0, size))
	case TIFF:
		result.Pages = max(1, len(TIFFFrames(r)))
	}
	return result
}
