package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/archivefs/archivefs/internal/server/poppler"
)

// TextVariant names the text of a source for who keeps it. It is empty where it takes less to
// make it again.
func TextVariant(s Source) string {
	switch class := class(s); class {
	case "pdf", "mail":
		return class + " text 1"
	}
	return ""
}

// Text returns the text of a document in UTF-8, its pages separated by form feeds: of PDFs that
// hold text, of texts and of e-mails. It is nil when none is known, as of pictures and of what
// cannot be read, and depends on nothing but content, size and content type. The error of a PDF
// is poppler.ErrMissing where nothing can read it.
func Text(ctx context.Context, s Source) ([]byte, error) {
	class := class(s)
	switch class {
	case "pdf":
		return pdfText(ctx, s.Content)
	case "text", "mail":
	default:
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(s.Content, maxText))
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	text := decodeText(data)
	if class == "mail" {
		if text, err = mailText(data); err != nil {
			return nil, nil //nolint:nilerr // no e-mail that can be read, so no text is known
		}
	}
	return append([]byte{}, text...), nil
}

// pdfText takes the text out of a PDF. One that consists of pictures has none.
func pdfText(ctx context.Context, pdf io.Reader) ([]byte, error) {
	text, err := poppler.Text(ctx, pdf)
	if errors.Is(err, poppler.ErrUnreadable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	return bytes.TrimSuffix(text, []byte("\f")), nil
}
