package mail

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/jhillyerd/enmime/v2/mediatype"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/archivefs/archivefs/internal/server/text"
)

// The longest things that are read, in bytes.
const (
	maxField = 8 << 10  // a field with parameters
	maxWords = 64 << 10 // a field of words, of which the rest is left out
	maxLine  = 64 << 10 // a line that is quoted-printable; there should be 76
)

// part is what a header says of a part.
type part struct {
	media       string // type, in lower case
	charset     string
	boundary    string // of a multipart
	disposition string // in lower case
	name        string // of the file
	id          string // by which a text of HTML shows it
}

// describe reads a header. What it gets wrong is as if it were not there (RFC 2045, 5.2).
func describe(header textproto.MIMEHeader) part {
	p := part{media: "text/plain"}
	media, params := field(header.Get("Content-Type"), "name")
	if strings.Contains(media, "/") {
		p.media, p.charset = media, params["charset"]
		if p.boundary = params["boundary"]; strings.HasPrefix(media, "multipart/") && p.boundary == "" {
			p.media = "text/plain"
		}
	}
	disposition, more := field(header.Get("Content-Disposition"), "filename")
	p.disposition = disposition
	if p.name = more["filename"]; p.name == "" {
		p.name = params["name"]
	}
	p.id = strings.Trim(strings.TrimSpace(header.Get("Content-Id")), "<>")
	return p
}

// charsetOf finds the character set of a parameter (RFC 2231, 4).
var charsetOf = regexp.MustCompile(`\*(?:0\*)?="?([\w.:-]+)'[\w-]*'`)

// field reads a field with parameters and returns its value in lower case. The named parameter
// is decoded, of whatever character set it is.
func field(value, name string) (string, map[string]string) {
	if len(value) > maxField {
		return "", nil
	}
	if !utf8.ValidString(value) {
		value = text.Decode([]byte(value), "")
	}
	charset := ""
	if at := charsetOf.FindStringSubmatchIndex(value); at != nil { // package mime knows UTF-8 alone
		charset, value = value[at[2]:at[3]], value[:at[2]]+"utf-8"+value[at[3]:]
	}
	word, params, _, err := mediatype.Parse(value)
	if err != nil {
		return "", nil
	}
	if named, is := params[name]; is && utf8.ValidString(named) {
		params[name] = decodeWords(named)
	} else if is {
		params[name] = text.Decode([]byte(named), charset)
	}
	return strings.ToLower(word), params
}

// isText reports whether a part is shown as text. One with a name is a file, unless there is
// nothing else.
func (p part) isText(at place) bool {
	shown := p.media == "text/plain" || p.media == "text/html"
	return shown && p.disposition != "attachment" && (p.name == "" || at.depth == 0)
}

// isMultipart reports whether a part consists of parts that can be read.
func (p part) isMultipart() bool {
	return strings.HasPrefix(p.media, "multipart/") && !p.encrypted()
}

// encrypted reports whether nothing can be said of what is in the part (RFC 1847).
func (p part) encrypted() bool { return p.media == "multipart/encrypted" }

// decoded undoes the transfer encoding of a part (RFC 2045, 6). One that is not known stays.
func decoded(header textproto.MIMEHeader, body io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(header.Get("Content-Transfer-Encoding"))) {
	case "base64":
		return base64.NewDecoder(base64.RawStdEncoding, alphabet{body})
	case "quoted-printable":
		return quotedprintable.NewReader(bufio.NewReaderSize(body, maxLine))
	}
	return body
}

// unended is a part that may end with the e-mail, without its boundary.
type unended struct{ io.Reader }

// Read implements io.Reader.
func (u unended) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if err == io.ErrUnexpectedEOF { //nolint:errorlint // package multipart returns it itself
		err = io.EOF
	}
	return n, err
}

// alphabet passes the characters of base64 alone: all others are ignored (RFC 2045, 6.8), and
// so is what fills up the end.
type alphabet struct{ io.Reader }

// Read implements io.Reader.
func (a alphabet) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil && len(p) > 0 {
		var got int
		got, err = a.Reader.Read(p)
		for _, c := range p[:got] {
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' {
				p[n] = c
				n++
			}
		}
	}
	return n, err
}

// decodeWords undoes encoded words (RFC 2047), also where they may not be, and bytes that are in
// no character set.
func decodeWords(s string) string {
	if len(s) > maxWords {
		s = s[:maxWords]
	}
	if !utf8.ValidString(s) {
		s = text.Decode([]byte(s), "")
	}
	words := mime.WordDecoder{CharsetReader: func(charset string, in io.Reader) (io.Reader, error) {
		known, err := htmlindex.Get(charset)
		if err != nil {
			return nil, err
		}
		return known.NewDecoder().Reader(in), nil
	}}
	if decoded, err := words.DecodeHeader(s); err == nil && utf8.ValidString(decoded) {
		return decoded
	}
	return s
}

// unescapedID is a content id as it stands in an address (RFC 2392).
func unescapedID(id string) string {
	if plain, err := url.PathUnescape(id); err == nil {
		return plain
	}
	return id
}

// subjectOf returns the name of a file for an e-mail that is attached: its subject. The reader
// returned has all of it.
func subjectOf(content io.Reader) (string, io.Reader) {
	const near = 16 << 10
	ahead := bufio.NewReaderSize(content, near)
	beginning, _ := ahead.Peek(near)
	message, err := mail.ReadMessage(bytes.NewReader(beginning))
	if err != nil {
		return "", ahead
	}
	subject := strings.TrimSpace(decodeWords(message.Header.Get("Subject")))
	if subject == "" {
		return "", ahead
	}
	return subject + ".eml", ahead
}
