package inspect

import (
	"errors"
	"io"

	"github.com/archivefs/archivefs/internal/server/inspect/pdf"
)

// Media types that are treated apart.
const (
	PDF  = "application/pdf"
	Mail = "message/rfc822"
	TIFF = "image/tiff"
)

// MaxPages is how many pages a document has at most.
const MaxPages = 1<<16 - 1

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
	// Uncounted says that the number of pages is not known: it is a PDF that is damaged,
	// or keeps its pages encrypted. One that was cut off counts as one page: to search it
	// takes long, and what is left of it is anybody's guess.
	Uncounted bool
}

// Content looks at a content of size bytes.
func Content(r io.ReaderAt, size int64, hint Hint) Result {
	result := Result{ContentType: contentType(r, hint), Pages: 1}
	switch {
	case result.ContentType == PDF:
		pages, err := pdf.Pages(r, size)
		result.Pages, result.Uncounted = pages, err != nil && !errors.Is(err, pdf.ErrCutOff)
	case size > maxParsed:
	case result.ContentType == TIFF:
		result.Pages = len(TIFFFrames(r))
	case Paged(result.ContentType, size):
		result.Pages = wordPages(r, size, result.ContentType)
	}
	result.Pages = min(max(1, result.Pages), MaxPages)
	return result
}
