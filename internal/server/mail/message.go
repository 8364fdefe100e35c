// Package mail reads e-mails (RFC 5322, RFC 2045): their text and their attachments. It reads once,
// from start to end, and holds no attachment in memory. It tolerates common mistakes of mail
// programs, and limits what a malicious e-mail can cost.
package mail

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jhillyerd/enmime/v2/mediatype"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/archivefs/archivefs/internal/server/text"
)

var (
	// ErrBroken says that an e-mail cannot be read to its end.
	ErrBroken = errors.New("the e-mail cannot be read")
	// ErrTooMuch says that an e-mail exceeds a limit.
	ErrTooMuch = errors.New("the e-mail has too much in it")
)

const (
	// MaxAttachments is how many attachments an e-mail may have.
	MaxAttachments = 500
	// maxDepth is how deep parts may be nested, and maxParts how many there may be.
	maxDepth, maxParts = 20, 5000
	// maxText bounds the bytes of text that are read.
	maxText = 4 << 20
	// maxHeader is the largest header of an e-mail, in bytes.
	maxHeader = 1 << 20
)

// Message is the readable part of an e-mail.
type Message struct {
	Header      string   // From, To, Cc, Date and Subject, a line for each
	Text        string   // from HTML if there is no plain text
	Attachments []string // their names, empty for those without one
}

// Attachment describes an attachment.
type Attachment struct {
	Name        string // as the sender wrote it; may be empty
	ContentType string // media type
}

// Read reads an e-mail. It calls take, unless nil, for each attachment in order; the reader is valid
// during the call, and need not be read. With ErrBroken and ErrTooMuch it also returns what it has
// read so far. An error of take or of r is returned wrapped.
//
// Attachments are all parts except the text, pictures that the HTML text shows, signatures and
// delivery reports. An encrypted e-mail is not taken apart, and so has no attachments. An attached
// e-mail is one attachment, with everything in it.
func Read(r io.Reader, take func(Attachment, io.Reader) error) (Message, error) {
	source := &source{Reader: r}
	top, err := mail.ReadMessage(bufio.NewReader(&io.LimitedReader{R: source, N: maxHeader}))
	if err != nil {
		return Message{}, source.blame(err)
	}
	// The limit is for the header alone.
	top.Body = io.MultiReader(top.Body, source)
	d := &dissection{take: take, shown: map[string]bool{}}
	said, err := d.part(textproto.MIMEHeader(top.Header), top.Body, place{})
	d.message.Header, d.message.Text = summary(top.Header), said.text
	if err != nil && !errors.Is(err, errTake) {
		err = source.blame(err)
	}
	return d.message, err
}

// String is the e-mail as text.
func (m Message) String() string {
	var b strings.Builder
	b.WriteString(m.Header)
	for _, name := range m.Attachments {
		if name == "" {
			name = "(without a name)"
		}
		fmt.Fprintf(&b, "Attachment: %s\n", name)
	}
	b.WriteString("\n" + m.Text)
	return b.String()
}

// summary is the header fields that people read.
func summary(header mail.Header) string {
	var b strings.Builder
	for _, name := range []string{"From", "To", "Cc", "Date", "Subject"} {
		if value := decodeWords(header.Get(name)); value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	return b.String()
}

// source remembers the error of a reader, which is not the e-mail's fault.
type source struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// blame tells an error of the reader from a broken e-mail.
func (s *source) blame(err error) error {
	switch {
	case s.err != nil:
		return fmt.Errorf("read e-mail: %w", s.err)
	case errors.Is(err, ErrTooMuch), errors.Is(err, ErrBroken):
		return err
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}

// errTake marks an error of take.
var errTake = errors.New("take attachment")

// dissection is an e-mail that is being read.
type dissection struct {
	take    func(Attachment, io.Reader) error
	message Message
	parts   int
	read    int64           // bytes of texts
	shown   map[string]bool // the content ids of the pictures that a text shows
}

// place is the position of a part.
type place struct {
	depth       int
	alternative bool // directly in multipart/alternative
}

// said is the text of a part.
type said struct {
	text string
	html bool
}

// part reads a part and all parts in it, and returns its text.
func (d *dissection) part(header textproto.MIMEHeader, body io.Reader, at place) (said, error) {
	if d.parts++; d.parts > maxParts {
		return said{}, fmt.Errorf("%w: more than %d parts", ErrTooMuch, maxParts)
	}
	p := describe(header)
	switch {
	case p.isMultipart():
		return d.multipart(p, body, at)
	case p.isText(at):
		return d.text(p, decoded(header, body))
	case !d.attached(p, at):
		return said{}, nil
	}
	return said{}, d.attachment(p, decoded(header, body))
}

// multipart reads the parts of a multipart. Of alternatives the first plain text that is not empty
// counts, else the first text that is not empty.
func (d *dissection) multipart(p part, body io.Reader, at place) (said, error) {
	if at.depth >= maxDepth {
		return said{}, fmt.Errorf("%w: parts in one another more than %d times", ErrTooMuch, maxDepth)
	}
	in := place{depth: at.depth + 1, alternative: p.media == "multipart/alternative"}
	var texts []said
	var failed error
	for parts := multipart.NewReader(body, p.boundary); failed == nil; {
		next, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the last boundary is often missing
			break
		}
		if err != nil {
			failed = fmt.Errorf("%w: %w", ErrBroken, err)
			break
		}
		var one said
		one, failed = d.part(next.Header, unended{next}, in)
		if strings.TrimSpace(one.text) != "" {
			texts = append(texts, one)
		}
	}
	if in.alternative {
		return chosen(texts), failed
	}
	return joined(texts), failed
}

// chosen returns the best of several alternatives.
func chosen(texts []said) said {
	if i := slices.IndexFunc(texts, func(s said) bool { return !s.html }); i >= 0 {
		return texts[i]
	}
	if len(texts) > 0 {
		return texts[0]
	}
	return said{}
}

// joined returns texts one after the other.
func joined(texts []said) said {
	var b strings.Builder
	all := said{}
	for i, s := range texts {
		if i > 0 && !strings.HasSuffix(texts[i-1].text, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(s.text)
		all.html = all.html || s.html
	}
	all.text = b.String()
	return all
}

// text reads a text that is shown.
func (d *dissection) text(p part, body io.Reader) (said, error) {
	left := maxText - d.read
	data, err := io.ReadAll(io.LimitReader(body, left))
	if err != nil && len(data) == 0 {
		return said{}, err
	}
	d.read += int64(len(data))
	if d.read == maxText {
		data = text.Beginning(data)
	}
	decoded := text.Decode(data, p.charset)
	if p.media != "text/html" {
		return said{text: strings.ReplaceAll(decoded, "\r\n", "\n")}, nil
	}
	shown, pictures := text.HTML(decoded)
	for _, address := range pictures {
		if id, is := strings.CutPrefix(address, "cid:"); is {
			d.shown[unescapedID(id)] = true
		}
	}
	return said{text: shown, html: true}, nil
}

// attached reports whether a part that is not shown as text counts as an attachment.
func (d *dissection) attached(p part, at place) bool {
	switch p.media {
	case "application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature":
		return false
	case "application/pkcs7-mime", "application/x-pkcs7-mime":
		return at.depth > 0 // at the top it is the e-mail itself
	}
	switch {
	case p.encrypted():
		return false
	case p.disposition == "attachment", p.media == "message/rfc822", p.media == "message/global":
		return true
	case p.media == "text/rfc822-headers", strings.HasPrefix(p.media, "message/"):
		return false
	case p.id != "" && d.shown[p.id]:
		return false
	case at.alternative && strings.HasPrefix(p.media, "text/") && p.media != "text/calendar":
		return false
	}
	return true
}

// attachment passes an attachment to take.
func (d *dissection) attachment(p part, content io.Reader) error {
	if len(d.message.Attachments) == MaxAttachments {
		return fmt.Errorf("%w: more than %d attachments", ErrTooMuch, MaxAttachments)
	}
	name := p.name
	if name == "" && strings.HasPrefix(p.media, "message/") {
		name, content = subjectOf(content)
	}
	d.message.Attachments = append(d.message.Attachments, name)
	if d.take == nil {
		return nil
	}
	from := &source{Reader: content}
	err := d.take(Attachment{Name: name, ContentType: p.media}, from)
	switch {
	case from.err != nil: // of the e-mail or its reader, not of take
		return fmt.Errorf("attachment %d: %w", len(d.message.Attachments), from.err)
	case err != nil:
		return fmt.Errorf("%w: %w", errTake, err)
	}
	return nil
}

// Limits in bytes.
const (
	maxField = 8 << 10  // a field with parameters; a longer one is ignored
	maxWords = 64 << 10 // a field of words; a longer one is cut off
	maxLine  = 64 << 10 // a quoted-printable line; the RFC allows 76 characters
)

// part is the header of a part.
type part struct {
	media       string // type, in lower case
	charset     string
	boundary    string // of a multipart
	disposition string // in lower case
	name        string // of the file
	id          string // its Content-ID, by which HTML refers to it
}

// describe reads a header. Invalid fields count as absent (RFC 2045, 5.2).
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

// field reads a field with parameters and returns its value in lower case. The named parameter is
// decoded from its character set.
func field(value, name string) (string, map[string]string) {
	if len(value) > maxField {
		return "", nil
	}
	if !utf8.ValidString(value) {
		value = text.Decode([]byte(value), "")
	}
	charset := ""
	if at := charsetOf.FindStringSubmatchIndex(value); at != nil { // package mime decodes only UTF-8
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

// isText reports whether a part is shown as text. A part with a file name is a file, unless it is the
// whole e-mail.
func (p part) isText(at place) bool {
	shown := p.media == "text/plain" || p.media == "text/html"
	return shown && p.disposition != "attachment" && (p.name == "" || at.depth == 0)
}

// isMultipart reports whether a part consists of readable parts.
func (p part) isMultipart() bool {
	return strings.HasPrefix(p.media, "multipart/") && !p.encrypted()
}

// encrypted reports whether the parts in a part are encrypted (RFC 1847).
func (p part) encrypted() bool { return p.media == "multipart/encrypted" }

// decoded undoes the transfer encoding of a part (RFC 2045, 6). An unknown one is left as it is.
func decoded(header textproto.MIMEHeader, body io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(header.Get("Content-Transfer-Encoding"))) {
	case "base64":
		return base64.NewDecoder(base64.RawStdEncoding, alphabet{body})
	case "quoted-printable":
		return quotedprintable.NewReader(bufio.NewReaderSize(body, maxLine))
	}
	return body
}

// unended is a part that may lack its closing boundary, at the end of the e-mail.
type unended struct{ io.Reader }

// Read implements io.Reader.
func (u unended) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if err == io.ErrUnexpectedEOF { //nolint:errorlint // package multipart returns it itself
		err = io.EOF
	}
	return n, err
}

// alphabet passes only the characters of base64. All others are ignored (RFC 2045, 6.8), and so is the
// padding.
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

// decodeWords decodes encoded words (RFC 2047), also where they are not allowed, and raw bytes without a
// character set.
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

// unescapedID decodes a content id from a cid: address (RFC 2392).
func unescapedID(id string) string {
	if plain, err := url.PathUnescape(id); err == nil {
		return plain
	}
	return id
}

// subjectOf returns a file name for an attached e-mail: its subject. The returned reader reads the
// whole e-mail.
func subjectOf(content io.Reader) (string, io.Reader) {
	const near = 16 << 10
	buffer := bufio.NewReaderSize(content, near)
	beginning, _ := buffer.Peek(near)
	message, err := mail.ReadMessage(bytes.NewReader(beginning))
	if err != nil {
		return "", buffer
	}
	subject := strings.TrimSpace(decodeWords(message.Header.Get("Subject")))
	if subject == "" {
		return "", buffer
	}
	return subject + ".eml", buffer
}
