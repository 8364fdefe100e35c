package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/office"
	"github.com/archivefs/archivefs/internal/server/poppler"
	"github.com/archivefs/archivefs/internal/server/text"
)

// maxWords is how much is read of a text that is too large to be set on pages, in bytes.
const maxWords = 16 << 20

// TextVariant names the text of a source for who keeps it. It is empty where it takes less to
// make it again.
func TextVariant(s Source) string {
	media, _, _ := strings.Cut(s.ContentType, ";")
	switch {
	case media == inspect.PDF, media == inspect.Mail, media == "text/html", office.Is(media):
		return "text 1 " + media
	}
	return ""
}

// Text returns the text of a document in UTF-8, its pages separated by form feeds: of PDFs that
// hold text, of texts of any kind, of e-mails and of office documents. It is nil when none is known, as of pictures and of
// what cannot be read, and depends on nothing but content, size and content type. Of what is huge it
// is the beginning. There is no NUL in it, which databases do not take. The error of a PDF is
// poppler.ErrMissing where nothing can read it, and poppler.ErrTooSlow where that took too long.
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
	case office.Is(s.ContentType) && s.Size <= maxSource:
		return officeText(s)
	}
	return nil, nil
}

// officeText returns the text of an office document, on one page.
func officeText(s Source) ([]byte, error) {
	content, is := s.Content.(io.ReaderAt)
	if !is {
		data, err := io.ReadAll(io.LimitReader(s.Content, maxSource))
		if err != nil {
			return nil, fmt.Errorf("read content: %w", err)
		}
		content = bytes.NewReader(data)
	}
	read := &failingAt{ReaderAt: content}
	words, err := office.Text(read, s.Size)
	switch {
	case read.err != nil:
		return nil, fmt.Errorf("read content: %w", read.err)
	case errors.Is(err, office.ErrUnreadable):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return []byte(strings.ReplaceAll(words, "\f", "\n")), nil
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

// failingAt remembers the error of a reader, which is not the content's fault.
type failingAt struct {
	io.ReaderAt
	err error
}

// ReadAt implements io.ReaderAt.
func (f *failingAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.ReaderAt.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}
