package inspect

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime"
	"net/mail"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

const (
	// headSize is how much of a text is looked at for its media type, in bytes.
	headSize = 64 << 10
	// startSize is how much of a content is looked at to tell whether it is one, in bytes: package
	// mimetype looks at no more of whatever it is given.
	startSize = 4 << 10
)

// unknown is the media type of bytes that say nothing (RFC 2046, 4.5.1).
const unknown = "application/octet-stream"

// contentType returns the media type of a content.
func contentType(r io.ReaderAt, hint Hint) string {
	head := start(r, startSize)
	if len(head) == 0 {
		return unknown
	}
	if tiffFormatOf(head).big {
		return TIFF
	}
	found := mimetype.Detect(head)
	if !isText(found) {
		return found.String()
	}
	if head = start(r, headSize); len(head) == 0 {
		return unknown
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

// start returns the first bytes of a content, nothing when they cannot be read.
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

// withCharset adds the character set to a kind of text: the one that was found, else
// UTF-8 where the text is.
func withCharset(media, charset string, head []byte) string {
	if !strings.HasPrefix(media, "text/") {
		return media
	}
	if charset == "" && utf8.Valid(wholeRunes(head)) {
		charset = "utf-8"
	}
	if charset == "" {
		return media
	}
	return mime.FormatMediaType(media, map[string]string{"charset": charset})
}

// wholeRunes drops a rune that the end of a full head cuts in two.
func wholeRunes(head []byte) []byte {
	if len(head) < headSize {
		return head
	}
	for i := 1; i < utf8.UTFMax; i++ {
		if utf8.RuneStart(head[len(head)-i]) {
			return head[:len(head)-i]
		}
	}
	return head
}

// looksLikeMail reports whether a text that begins with the header of a message is one: whoever
// sends it says so, or the header has what every message has (RFC 5322, 3.6) and few texts.
func looksLikeMail(head []byte, hint Hint) bool {
	message, err := mail.ReadMessage(bufio.NewReader(bytes.NewReader(head)))
	if err != nil || len(message.Header) == 0 {
		return false
	}
	media, _, err := mime.ParseMediaType(hint.ContentType)
	if strings.EqualFold(path.Ext(hint.Name), ".eml") || (err == nil && media == Mail) {
		return true
	}
	if textByExtension(hint.Name) != "" || message.Header.Get("From") == "" || message.Header.Get("Date") == "" {
		return false
	}
	for _, name := range []string{"Message-Id", "Received", "Mime-Version", "Return-Path"} {
		if message.Header.Get(name) != "" {
			return true
		}
	}
	return false
}
