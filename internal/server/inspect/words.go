package inspect

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	"github.com/archivefs/archivefs/internal/server/mail"
	"github.com/archivefs/archivefs/internal/server/text"
)

// MaxText is the largest text that is set on pages, in bytes.
const MaxText = 1 << 20

// Wordy reports whether a content of that type is text that people read: a text of any kind or
// an e-mail.
func Wordy(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	switch {
	case strings.HasPrefix(media, "text/"), media == Mail, strings.HasSuffix(media, "json"):
		return true
	}
	return strings.HasSuffix(media, "xml") && strings.HasPrefix(media, "application/") && !strings.Contains(media, "openxml")
}

// Paged reports whether a wordy content of that size is set on pages. It has as many pages as
// text.Pages makes of its words; what is larger has one.
func Paged(contentType string, size int64) bool {
	if contentType == Mail {
		return size <= maxParsed
	}
	return Wordy(contentType) && size <= MaxText
}

// Words returns what a wordy content says, up to limit bytes of it where it is no e-mail: of HTML
// and e-mails without their marks. The error is that of r.
func Words(r io.Reader, contentType string, limit int64) (string, error) {
	if contentType == Mail {
		message, err := mail.Read(r, nil)
		if err != nil && !errors.Is(err, mail.ErrBroken) && !errors.Is(err, mail.ErrTooMuch) {
			return "", err
		}
		return message.String(), nil
	}
	data, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return "", fmt.Errorf("read content: %w", err)
	}
	if int64(len(data)) == limit {
		data = text.Beginning(data)
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, params = contentType, nil
	}
	words := text.Decode(data, params["charset"])
	if media == "text/html" {
		words, _ = text.HTML(words)
	}
	return words, nil
}

// wordPages counts the pages of a wordy content.
func wordPages(r io.ReaderAt, size int64, contentType string) int {
	words, err := Words(io.NewSectionReader(r, 0, size), contentType, MaxText)
	if err != nil {
		return 1
	}
	return max(1, len(text.Pages(words)))
}
