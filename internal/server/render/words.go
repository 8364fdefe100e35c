package render

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/poppler"
	"github.com/archivefs/archivefs/internal/server/text"
)

// maxWords is how much is read of a text that is too large to be set on pages, in bytes.
const maxWords = 16 << 20

// TextVariant names the text of a source for who keeps it. It is empty where it takes less to
// make it again.
func TextVariant(s Source) string {
	media, _, _ := strings.Cut(s.ContentType, ";")
	switch media {
	case inspect.PDF, inspect.Mail, "text/html":
		return "text 1 " + media
	}
	return ""
}

// Text returns the text of a document in UTF-8, its pages separated by form feeds: of PDFs that
// hold text, of texts of any kind and of e-mails. It is nil when none is known, as of pictures and of
// what cannot be read, and depends on nothing but content, size and content type. Of what is huge it
// is the beginning. The error of a PDF is poppler.ErrMissing where nothing can read it.
func Text(ctx context.Context, s Source) ([]byte, error) {
	switch {
	case s.ContentType == inspect.PDF:
		return pdfText(ctx, s.Content)
	case inspect.Wordy(s.ContentType):
		return wordText(s)
	}
	return nil, nil
}

// wordText returns the text of a text or an e-mail, in pages where it is set on pages.
func wordText(s Source) ([]byte, error) {
	words, err := inspect.Words(s.Content, s.ContentType, maxWords)
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

// pdfText takes the text out of a PDF. One that consists of pictures has none.
func pdfText(ctx context.Context, pdf io.Reader) ([]byte, error) {
	words, err := poppler.Text(ctx, pdf)
	if errors.Is(err, poppler.ErrUnreadable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(words)) == 0 {
		return nil, nil
	}
	return bytes.TrimSuffix(words, []byte("\f")), nil
}
