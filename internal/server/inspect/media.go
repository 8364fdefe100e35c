package inspect

import (
	"bufio"
	"io"
	"mime"
	"net/mail"
	"path"
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// head is how much of a content is looked at for its media type, in bytes.
const head = 64 << 10

// contentType returns the media type of a content.
func contentType(r io.ReaderAt, size int64, hint Hint) string {
	if size == 0 {
		return "application/octet-stream"
	}
	found, err := mimetype.DetectReader(io.NewSectionReader(r, 0, min(size, head)))
	if err != nil {
		return "application/octet-stream"
	}
	if !isText(found) {
		return found.String()
	}
	if looksLikeMail(hint) && parsesAsMail(io.NewSectionReader(r, 0, min(size, head))) {
		return Mail
	}
	if media := textByExtension(hint.Name); media != "" {
		return withCharset(media, found)
	}
	return found.String()
}

func isText(m *mimetype.MIME) bool {
	for ; m != nil; m = m.Parent() {
		if m.Is("text/plain") {
			return true
		}
	}
	return false
}

// textByExtension names the kind of text that a file's extension stands for; the bytes
// of these kinds do not tell them apart for sure.
func textByExtension(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".txt", ".log":
		return "text/plain"
	case ".csv":
		return "text/csv"
	case ".tsv":
		return "text/tab-separated-values"
	case ".md":
		return "text/markdown"
	case ".html", ".htm":
		return "text/html"
	case ".css":
		return "text/css"
	case ".ics":
		return "text/calendar"
	case ".vcf":
		return "text/vcard"
	case ".xml":
		return "text/xml"
	case ".json":
		return "application/json"
	}
	return ""
}

// withCharset passes on the character set that was found.
func withCharset(media string, found *mimetype.MIME) string {
	for ; found != nil && strings.HasPrefix(media, "text/"); found = found.Parent() {
		_, params, err := mime.ParseMediaType(found.String())
		if err == nil && params["charset"] != "" {
			return mime.FormatMediaType(media, map[string]string{"charset": params["charset"]})
		}
	}
	return media
}

func looksLikeMail(hint Hint) bool {
	media, _, err := mime.ParseMediaType(hint.ContentType)
	return strings.EqualFold(path.Ext(hint.Name), ".eml") || (err == nil && media == Mail)
}

// parsesAsMail reports whether a text begins with the header of a message (RFC 5322).
func parsesAsMail(r io.Reader) bool {
	message, err := mail.ReadMessage(bufio.NewReader(r))
	return err == nil && len(message.Header) > 0
}
