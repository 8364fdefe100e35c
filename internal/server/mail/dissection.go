package mail

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/server/text"
)

// errTake marks an error of who takes the attachments.
var errTake = errors.New("take attachment")

// dissection is an e-mail that is being read.
type dissection struct {
	take    func(Attachment, io.Reader) error
	message Message
	parts   int
	read    int64           // bytes of texts
	shown   map[string]bool // the content ids of the pictures that a text shows
}

// place is where a part lies.
type place struct {
	depth       int
	alternative bool // it is one form of what others say, too
}

// said is the text of a part.
type said struct {
	text string
	html bool
}

// part reads one part, with those in it, and returns its text.
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

// multipart reads the parts of a part. Of alternatives the first that says something as plain
// text is its text, else the first that says something.
func (d *dissection) multipart(p part, body io.Reader, at place) (said, error) {
	if at.depth >= maxDepth {
		return said{}, fmt.Errorf("%w: parts in one another more than %d times", ErrTooMuch, maxDepth)
	}
	in := place{depth: at.depth + 1, alternative: p.media == "multipart/alternative"}
	var texts []said
	var failed error
	for parts := multipart.NewReader(body, p.boundary); failed == nil; {
		next, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // many lack their end
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

// chosen returns the best of several forms of one text.
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

// attached reports whether a part that is no text counts as an attachment.
func (d *dissection) attached(p part, at place) bool {
	switch p.media {
	case "application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature":
		return false
	case "application/pkcs7-mime", "application/x-pkcs7-mime":
		return at.depth > 0 // else it is the e-mail itself
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

// attachment tells of an attachment.
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
	told := &source{Reader: content}
	err := d.take(Attachment{Name: name, ContentType: p.media}, told)
	switch {
	case told.err != nil: // what is in the e-mail, or where it is read from
		return fmt.Errorf("attachment %d: %w", len(d.message.Attachments), told.err)
	case err != nil:
		return fmt.Errorf("%w: %w", errTake, err)
	}
	return nil
}
