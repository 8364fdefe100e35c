// Package mail reads e-mails (RFC 5322, RFC 2045) as mail programs do: their text and their attachments. It
// reads once, from start to end, and holds no attachment in memory, except those of a winmail.dat. There
// is no broken e-mail: what cannot be read of a part stays as it is, and costs the other parts nothing.
// What a malicious e-mail can cost is limited.
package mail

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/archivefs/archivefs/internal/server/text"
)

// ErrTooMuch says that an e-mail exceeds a limit.
var ErrTooMuch = errors.New("the e-mail has too much in it")

const (
	// MaxAttachments is how many attachments an e-mail may have.
	MaxAttachments = 500
	// maxDepth is how deep parts may be nested, and maxParts how many there may be.
	maxDepth, maxParts = 20, 5000
	// maxText bounds the bytes of text that are read.
	maxText = 4 << 20
)

// Message is the readable part of an e-mail.
type Message struct {
	Header      string   // From, To, Cc, Date and Subject, a line for each
	Text        string   // plain, and what only HTML says
	Attachments []string // their names, empty for those without one
	// Damaged are the attachments, from 0, of which something is missing. Only those that were taken are known.
	Damaged []int
	// Ended says that the e-mail ends in its last attachment, of which something may be missing.
	Ended bool
}

// Attachment describes an attachment.
type Attachment struct {
	// Name is that which the sender gave, fit for a file except that it may have slashes; of an attached
	// e-mail its subject. It is empty without one.
	Name        string
	ContentType string // media type
}

// Read reads an e-mail. It calls take, unless nil, for each attachment in order; the reader is valid
// during the call, and need not be read. With ErrTooMuch it also returns what it has read so far. An
// error of take or of r is returned wrapped.
//
// Attachments are all parts except the text, pictures that the HTML text shows, signatures and delivery reports, and
// also what is in a winmail.dat, or in uuencode within the text. An encrypted e-mail is not taken apart, and so has no
// attachments. An attached e-mail is one attachment, with everything in it.
func Read(r io.Reader, take func(Attachment, io.Reader) error) (Message, error) {
	d := &dissection{reader: newReader(r), take: take, shown: map[string]bool{}}
	h, loose := d.header(true)
	said, err := d.part(h, loose, place{media: "text/plain"})
	d.message.Header, d.message.Text, d.message.Ended = summary(h), said.text, d.ended
	if d.failed != nil {
		err = fmt.Errorf("read e-mail: %w", d.failed)
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
func summary(h header) string {
	var b strings.Builder
	for _, name := range []string{"From", "To", "Cc", "Date", "Subject"} {
		values := h.all(strings.ToLower(name))
		if name == "Date" || name == "Subject" {
			values = values[:min(1, len(values))]
		}
		if len(values) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(values, ", "))
		}
	}
	return b.String()
}

// dissection is an e-mail that is being read.
type dissection struct {
	*reader
	take    func(Attachment, io.Reader) error
	message Message
	parts   int
	read    int             // bytes of texts
	shown   map[string]bool // the content ids of the pictures that a text shows
	broken  bool            // something is missing of the content that was read last
}

// place is the position of a part.
type place struct {
	depth       int
	alternative bool   // directly in multipart/alternative
	apple       bool   // directly in multipart/appledouble
	media       string // its type unless it has one of its own
	name        string // the same for its name
}

// said is the text of a part.
type said struct {
	text string
	rich bool // from HTML or the like
	more bool // only what the texts before it lack counts
}

// part reads a part and all parts in it, and returns its text.
func (d *dissection) part(h header, loose []byte, at place) (said, error) {
	if d.parts++; d.parts > maxParts {
		return said{}, fmt.Errorf("%w: more than %d parts", ErrTooMuch, maxParts)
	}
	p := describe(h, at)
	whole := &body{reader: d.reader}
	content := io.Reader(whole)
	if p.isMultipart() {
		if p.boundary = d.boundary(p.boundary); p.boundary != "" {
			return d.multipart(p, at)
		}
		p.media = "text/plain"
	}
	if p.isText(at) && p.encoding != "base64" {
		content = io.MultiReader(bytes.NewReader(loose), content)
	}
	if !p.isText(at) {
		if !d.attached(p, at) {
			return said{}, nil
		}
		whole.broken = &d.broken
	}
	d.broken = false
	content = decoded(&p, content, &d.broken)
	if p.isText(at) {
		return d.text(p, content)
	}
	return d.attachment(p, content)
}

// multipart reads the parts of a multipart, also those behind its end. What stands around them is
// text, too, except a hint in front of them for programs that know no multiparts.
func (d *dissection) multipart(p part, at place) (said, error) {
	if at.depth >= maxDepth {
		return said{}, fmt.Errorf("%w: parts in one another more than %d times", ErrTooMuch, maxDepth)
	}
	level, found := len(d.open), false
	d.open = append(d.open, p.boundary)
	defer func() { d.open = d.open[:level] }()
	in := place{depth: at.depth + 1, alternative: p.media == "multipart/alternative", media: "text/plain"}
	switch p.media {
	case "multipart/digest":
		in.media = "message/rfc822"
	case "multipart/appledouble":
		in.apple, in.name = true, p.name
	}
	var texts []said
	before, err := d.text(part{media: "text/plain"}, &body{reader: d.reader})
	for err == nil {
		line := d.line()
		here, last := d.delimiter(line)
		if here != level {
			break
		}
		d.skip(line)
		var one said
		if last {
			one, err = d.text(part{media: "text/plain"}, &body{reader: d.reader})
		} else {
			h, loose := d.header(false)
			one, err = d.part(h, loose, in)
			_, _ = io.Copy(io.Discard, &body{reader: d.reader}) // the rest
			found = true
		}
		if strings.TrimSpace(one.text) != "" {
			texts = append(texts, one)
		}
	}
	if len(texts) == 0 && (!found || !strings.Contains(before.text, "MIME")) {
		texts = append(texts, before)
	}
	if in.alternative {
		return chosen(texts), err
	}
	return joined(texts), err
}

// chosen returns the first plain one of several alternatives, else the first one, and behind it what only
// the others say.
func chosen(texts []said) said {
	if len(texts) == 0 {
		return said{}
	}
	first := max(0, slices.IndexFunc(texts, func(s said) bool { return !s.rich && !s.more }))
	texts[0], texts[first] = texts[first], texts[0]
	for i := range texts[1:] {
		texts[i+1].more = true
	}
	return joined(texts)
}

// joined returns texts one after the other; of some only the lines with a word that those before them lack.
func joined(texts []said) said {
	var b strings.Builder
	all, known, end := said{}, map[string]bool{}, "\n"
	for _, s := range texts {
		for line := range strings.Lines(s.text) {
			if s.more && !slices.ContainsFunc(words(line), func(word string) bool { return !known[word] }) {
				continue
			}
			if !strings.HasSuffix(end, "\n") {
				b.WriteByte('\n')
			}
			b.WriteString(line)
			end = line
		}
		for _, word := range words(s.text) {
			known[word] = true
		}
		all.rich = all.rich || s.rich
	}
	all.text = b.String()
	return all
}

// words returns the words of a text, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.In(c, unicode.L, unicode.N, unicode.M) })
}

// text reads a text that is shown, and the attachments in uuencode that stand in it.
func (d *dissection) text(p part, content io.Reader) (said, error) {
	in := bufio.NewReader(content)
	var data []byte
	for {
		line, err := in.ReadSlice('\n')
		length := len(data)
		data = append(data, line[:min(len(line), maxText-d.read)]...)
		if name := begin.FindSubmatch(line); name != nil && p.media == "text/plain" {
			file := part{media: "application/octet-stream", name: decodeWords(string(name[1]))}
			if _, is := uuLine(bytes.TrimRight(lineAhead(in), "\r\n")); is {
				u := &uuReader{in: in, broken: &d.broken}
				data, d.broken = data[:length], false
				if _, err := d.attachment(file, u); err != nil {
					return said{}, err
				}
				_, _ = io.Copy(io.Discard, u)
				continue
			}
		}
		d.read += len(data) - length
		if err == nil || errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if !errors.Is(err, io.EOF) {
			return said{}, err
		}
		break
	}
	if d.read >= maxText {
		data = text.Beginning(data)
	}
	if p.media == "text/plain" || p.media == "text/rfc822-headers" || strings.HasPrefix(p.media, "message/") {
		return said{text: p.unfolded(lineEnds.Replace(decode(data, p.charset)))}, nil
	}
	shown, pictures := text.HTML(page(data, p.charset))
	for _, address := range pictures {
		if id, is := strings.CutPrefix(address, "cid:"); is {
			d.shown[unescapedID(id)] = true
		}
	}
	return said{text: shown, rich: true}, nil
}

// lineEnds makes those of Unix.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// unfolded undoes format=flowed (RFC 3676).
func (p part) unfolded(s string) string {
	if !p.flowed {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		if content := strings.TrimSuffix(line, "\n"); strings.HasSuffix(content, " ") && content != "-- " {
			line = content
			if p.noBlanks {
				line = content[:len(content)-1]
			}
		}
		b.WriteString(strings.TrimPrefix(line, " "))
	}
	return b.String()
}

// attached reports whether a part that is not shown as text counts as an attachment.
func (d *dissection) attached(p part, at place) bool {
	switch p.media {
	case "application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature":
		return false
	case "application/pkcs7-mime", "application/x-pkcs7-mime":
		return at.depth > 0 // at the top it is the e-mail itself
	case "application/applefile":
		return !at.apple // there it is what only a Mac knows of the file
	}
	shown := p.id != "" && d.shown[p.id] && strings.HasPrefix(p.media, "image/")
	return !p.encrypted() && (p.disposition == "attachment" || !shown)
}

// attachment passes an attachment to take. The text is that of a winmail.dat.
func (d *dissection) attachment(p part, content io.Reader) (said, error) {
	if p.media == "application/ms-tnef" || p.media == "application/vnd.ms-tnef" || strings.EqualFold(p.name, "winmail.dat") {
		data, err := io.ReadAll(io.LimitReader(content, maxTNEF))
		if err != nil {
			return said{}, err
		}
		if before := len(d.message.Attachments); len(data) < maxTNEF && isTNEF(data) {
			if said, err := d.tnef(data, 0); err != nil || said.text != "" || len(d.message.Attachments) > before {
				return said, err
			}
		}
		content = io.MultiReader(bytes.NewReader(data), content)
	}
	number := len(d.message.Attachments)
	if number == MaxAttachments {
		return said{}, fmt.Errorf("%w: more than %d attachments", ErrTooMuch, MaxAttachments)
	}
	name := fileName(p.name)
	if (p.media == "message/rfc822" || p.media == "message/global") && !strings.EqualFold(path.Ext(name), ".eml") {
		var subject string
		if subject, content = subjectOf(content); subject != "" {
			name = subject
		}
		if name = strings.TrimRight(name, ". "); name != "" {
			name = cleaned(name + ".eml")
		}
	}
	d.message.Attachments = append(d.message.Attachments, name)
	if d.take == nil {
		return said{}, nil
	}
	if err := d.take(Attachment{Name: name, ContentType: p.media}, content); err != nil {
		return said{}, fmt.Errorf("attachment %d: %w", number+1, err)
	}
	if _, err := io.Copy(io.Discard, content); err == nil && d.broken {
		d.message.Damaged = append(d.message.Damaged, number)
	}
	return said{}, nil
}

// subjectOf returns the subject of an attached e-mail. The returned reader reads the whole e-mail.
func subjectOf(content io.Reader) (string, io.Reader) {
	const near = 16 << 10
	buffer := bufio.NewReaderSize(content, near)
	beginning, _ := buffer.Peek(near)
	h, _ := newReader(bytes.NewReader(beginning)).header(true)
	subjects := h.all("subject")
	return strings.Join(subjects[:min(1, len(subjects))], ""), buffer
}

// part is the header of a part.
type part struct {
	media            string // type, in lower case
	charset          string
	flowed, noBlanks bool   // format=flowed, and its DelSp=yes
	boundary         string // of a multipart
	disposition      string // in lower case
	name             string // of the file
	id               string // its Content-ID, by which HTML refers to it
	encoding         string
}

// describe reads a header. Invalid fields count as absent (RFC 2045, 5.2); of several types a multipart
// counts, else the first.
func describe(h header, at place) part {
	p := part{media: at.media, encoding: encodingOf(h)}
	var with map[string]string
	for _, f := range h {
		if f.name != "content-type" || p.isMultipart() {
			continue
		}
		media, params := params(text.Decode(f.value, ""))
		if strings.Contains(media, "/") && (with == nil || strings.HasPrefix(media, "multipart/")) {
			p.media, with = media, params
		}
	}
	p.charset, p.boundary = with["charset"], strings.TrimRight(with["boundary"], " \t")
	p.flowed, p.noBlanks = strings.EqualFold(with["format"], "flowed"), strings.EqualFold(with["delsp"], "yes")
	disposition, more := params(h.raw("content-disposition"))
	p.disposition = disposition
	p.name = cmp.Or(more["filename"], more["name"], with["name"], with["filename"], at.name)
	p.id = strings.Trim(h.raw("content-id"), "<> ")
	return p
}

// isText reports whether a part is shown as text. A part with a file name is a file, unless it is the whole e-mail.
func (p part) isText(at place) bool {
	shown := false
	switch p.media {
	case "text/plain", "text/html", "text/rfc822-headers", "message/delivery-status", "message/disposition-notification", "message/feedback-report":
		shown = true
	case "text/calendar", "text/vcard", "text/x-vcard", "text/directory":
	default:
		shown = at.alternative && strings.HasPrefix(p.media, "text/")
	}
	return shown && p.disposition != "attachment" && (p.name == "" || at.depth == 0)
}

// isMultipart reports whether a part consists of readable parts.
func (p part) isMultipart() bool {
	return strings.HasPrefix(p.media, "multipart/") && !p.encrypted()
}

// encrypted reports whether the parts in a part are encrypted (RFC 1847).
func (p part) encrypted() bool { return p.media == "multipart/encrypted" }

// unescapedID decodes a content id from a cid: address (RFC 2392).
func unescapedID(id string) string {
	plain, _ := url.PathUnescape(id)
	return cmp.Or(plain, id)
}
