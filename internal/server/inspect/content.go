// Package inspect determines the media type and the page count of a received content. It goes by the
// bytes; what a client says only decides between kinds of text that look alike. It never fails, and
// bounds time and memory: a content that cannot be read, or is too large to be parsed, has one page.
// Texts and e-mails have as many pages as package render makes of them.
package inspect

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"github.com/archivefs/archivefs/internal/server/inspect/pdf"
	"github.com/archivefs/archivefs/internal/server/mail"
	"github.com/archivefs/archivefs/internal/server/office"
	"github.com/archivefs/archivefs/internal/server/text"
	"github.com/archivefs/archivefs/internal/whole"
)

// Media types with special treatment.
const (
	PDF  = "application/pdf"
	Mail = "message/rfc822"
	TIFF = "image/tiff"
)

// MaxPages is the largest page count of a document.
const MaxPages = 1<<16 - 1

// maxParsed is the largest e-mail that is laid out on pages, in bytes.
const maxParsed = 64 << 20

// Hint is what a client says about a content.
type Hint struct {
	Name        string // of the file
	ContentType string
}

// Result is the result of an inspection.
type Result struct {
	ContentType string // media type with parameters
	Pages       int    // at least 1
	// Uncounted says that the number of pages is not known, because the PDF is damaged or encrypted. A truncated PDF
	// counts as one page: searching it takes long, and finds an arbitrary part of its pages.
	Uncounted bool
}

// Content inspects a content of size bytes.
func Content(r io.ReaderAt, size int64, hint Hint) Result {
	result := Result{ContentType: contentType(r, size, hint), Pages: 1}
	switch {
	case result.ContentType == PDF:
		pages, err := pdf.Pages(r, size)
		result.Pages, result.Uncounted = pages, err != nil && !errors.Is(err, whole.ErrIncomplete)
	case result.ContentType == TIFF:
		result.Pages = Pages(r, size, TIFF)
	case Paged(result.ContentType, size):
		result.Pages = wordPages(r, size, result.ContentType)
	}
	result.Pages = min(max(1, result.Pages), MaxPages)
	return result
}

// Pages counts the pages of a PDF or a TIFF; 0 if they cannot be read, and of other contents.
func Pages(r io.ReaderAt, size int64, contentType string) (n int) {
	switch contentType {
	case PDF:
		n, _ = pdf.Pages(r, size)
	case TIFF:
		if t := whole.AsTIFF(io.NewSectionReader(r, 0, size)); t != nil {
			for range t.Pages {
				n++
			}
		}
	}
	return min(n, MaxPages)
}

// headSize is how much of a content is read to determine its media type, in bytes.
const headSize = 64 << 10

// unknown is the media type of unknown bytes (RFC 2046, 4.5.1).
const unknown = "application/octet-stream"

// contentType returns the media type of a content: by its structure, else by what it begins with, and that
// of a text by its name.
func contentType(r io.ReaderAt, size int64, hint Hint) string {
	head := start(r, headSize)
	if len(head) == 0 {
		return unknown
	}
	if whole.AsTIFF(bytes.NewReader(head)) != nil {
		return TIFF
	}
	if media := office.Type(r, size, head); media != "" {
		return media
	}
	found, wide := mimetype.Detect(head), ""
	if found.Is(unknown) {
		wide = text.Wide(head)
	}
	if found.Is(PDF) || found.Is(unknown) || isText(found) {
		pdf, is, err := whole.FindPDF(io.NewSectionReader(r, 0, size))
		if err != nil || is && (pdf.Start == 0 || !looksLikeMail(head, hint)) {
			return PDF
		}
	}
	if found.Is(PDF) { // that is only mentioned
		found = mimetype.Detect(bytes.ReplaceAll(head, []byte("%PDF-"), nil))
	}
	switch {
	case isText(found):
	case wide != "":
		return withCharset(cmp.Or(textByExtension(hint.Name), "text/plain"), wide, head)
	case found.Is(unknown): // an e-mail may have any bytes
		if looksLikeMail(head, hint) {
			return Mail
		}
		return unknown
	case !isPlain(found.String(), head):
		return found.String()
	default:
		found = mimetype.Lookup("text/plain")
	}
	media, params, err := mime.ParseMediaType(found.String())
	if err != nil {
		return found.String()
	}
	if byName := textByExtension(hint.Name); byName != "" {
		media = byName
	}
	switch mail := looksLikeMail(head, hint); {
	case mail:
		media = Mail
	case media == Mail:
		media = "text/plain"
	}
	return withCharset(media, params["charset"], head)
}

// isPlain reports whether a beginning is that of a text, which was taken for something else by its first
// letters. Formats that are texts, but not for readers, begin with more than a few.
func isPlain(media string, head []byte) bool {
	switch media {
	case "application/postscript", "application/vnd.fdf", "application/pkcs7-signature", "application/fits", "application/x-archive",
		"application/vnd.apple.mpegurl", "image/x-xpixmap", "image/vnd.dxf", "image/vnd.radiance":
		return false
	}
	return !bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\f\r\x1b", r) })
}

// start returns the first bytes of a content, nil if they cannot be read.
func start(r io.ReaderAt, size int) []byte {
	head := make([]byte, size)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return head[:n]
}

func isText(m *mimetype.MIME) bool {
	for ; m != nil; m = m.Parent() {
		if m.Is("text/plain") {
			return true
		}
	}
	return false
}

// textByExtension is the media type of a text by its file extension. The bytes of these types do not
// reliably tell them apart.
func textByExtension(name string) string { return texts[strings.ToLower(path.Ext(name))] }

var texts = map[string]string{
	".txt": "text/plain", ".log": "text/plain", ".csv": "text/csv", ".tsv": "text/tab-separated-values", ".md": "text/markdown",
	".html": "text/html", ".htm": "text/html", ".css": "text/css", ".ics": "text/calendar", ".vcf": "text/vcard", ".xml": "text/xml",
	".json": "application/json",
}

// withCharset adds the character set to the media type of a text: the detected one, else UTF-8 if the
// text is valid UTF-8.
func withCharset(media, charset string, head []byte) string {
	if !strings.HasPrefix(media, "text/") {
		return media
	}
	if len(head) == headSize {
		head = text.Beginning(head)
	}
	if charset == "" && utf8.Valid(head) {
		charset = "utf-8"
	}
	if charset == "" {
		return media
	}
	return mime.FormatMediaType(media, map[string]string{"charset": charset})
}

// looksLikeMail reports whether a text is an e-mail: it begins with the header of a message, and
// either the client says so, or the header has fields that every message has (RFC 5322, 3.6) and
// other texts rarely have, or those of a web page in one file (MHTML).
func looksLikeMail(head []byte, hint Hint) bool {
	fields := mail.Fields(head)
	media, _, err := mime.ParseMediaType(hint.ContentType)
	if strings.EqualFold(path.Ext(hint.Name), ".eml") || (err == nil && media == Mail) {
		return len(fields) > 0
	}
	has := func(name string) bool { return fields[name] != "" }
	page := has("mime-version") && strings.HasPrefix(strings.ToLower(fields["content-type"]), "multipart/related") // RFC 2557
	return textByExtension(hint.Name) == "" && (page || has("from") && has("date") &&
		slices.ContainsFunc([]string{"message-id", "received", "mime-version", "return-path"}, has))
}

// MaxText is the largest text that is laid out on pages, in bytes.
const MaxText = 1 << 20

// Wordy reports whether a content of that type is readable text: a text of any kind, an e-mail, or a message of Outlook.
func Wordy(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	words := strings.HasPrefix(media, "text/") || media == Mail || media == office.Outlook || strings.HasSuffix(media, "json")
	return !office.Is(media) && (words || strings.HasSuffix(media, "xml") && strings.HasPrefix(media, "application/"))
}

// Paged reports whether a wordy content of that size is laid out on pages by text.Pages. A larger one has one page.
func Paged(contentType string, size int64) bool {
	if contentType == Mail || contentType == office.Outlook {
		return size <= maxParsed
	}
	return Wordy(contentType) && size <= MaxText
}

// Words returns the text of a wordy content, for HTML and e-mails without markup. Unless it is an
// e-mail or a message, at most limit bytes are read. The error is that of r, or office.ErrUnreadable.
func Words(r io.Reader, contentType string, limit int64) (string, error) {
	if contentType == Mail {
		message, err := mail.Read(r, nil)
		if err != nil && !errors.Is(err, mail.ErrTooMuch) {
			return "", err
		}
		return message.String(), nil
	}
	if contentType == office.Outlook {
		limit = maxParsed
	}
	data, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return "", fmt.Errorf("read content: %w", err)
	}
	if contentType == office.Outlook {
		return office.Message(bytes.NewReader(data), int64(len(data)))
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
		title, shown, _ := text.Titled(words)
		words = title + shown
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
