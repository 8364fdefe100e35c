package sample

import (
	"fmt"
	"io"
	"mime"
	"strings"
	"time"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/mail"
)

// mailMessage is an e-mail with attachments.
type mailMessage struct {
	from, to    mail.Address
	date        time.Time
	subject     string
	text        string // "\n" ends a line
	attachments []attachment
}

// attachment is a file that goes with an e-mail.
type attachment struct {
	name        string
	contentType string // media type, RFC 6838
	content     source
}

// mailSource makes an e-mail (RFC 5322, multipart/mixed of RFC 2046) with its text in
// UTF-8 and its attachments in base64.
func mailSource(m mailMessage) source {
	return func(w io.Writer) error {
		// Message-ID and boundary are made of the date: random ones would change the bytes.
		mark := m.date.UTC().Format("20060102150405")
		var h mail.Header
		h.SetAddressList("From", []*mail.Address{&m.from})
		h.SetAddressList("To", []*mail.Address{&m.to})
		h.SetDate(m.date)
		h.SetSubject(m.subject)
		_, host, _ := strings.Cut(m.from.Address, "@")
		h.SetMessageID(mark + "@" + host)
		h.SetContentType("multipart/mixed", map[string]string{"boundary": "teil-" + mark})
		mw, err := message.CreateWriter(w, h.Header)
		if err != nil {
			return fmt.Errorf("writing e-mail %q: %w", m.subject, err)
		}
		if err := m.writeText(mw); err != nil {
			return fmt.Errorf("writing e-mail %q: %w", m.subject, err)
		}
		for _, a := range m.attachments {
			if err := a.write(mw); err != nil {
				return fmt.Errorf("writing e-mail %q: attachment %q: %w", m.subject, a.name, err)
			}
		}
		if err := mw.Close(); err != nil {
			return fmt.Errorf("writing e-mail %q: %w", m.subject, err)
		}
		return nil
	}
}

func (m mailMessage) writeText(mw *message.Writer) error {
	var h message.Header
	h.SetContentType("text/plain", map[string]string{"charset": "utf-8"})
	h.SetContentDisposition("inline", nil)
	h.Set("Content-Transfer-Encoding", "quoted-printable")
	text := strings.ReplaceAll(m.text, "\n", "\r\n") + "\r\n"
	return writePart(mw, h, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

func (a attachment) write(mw *message.Writer) error {
	var h message.Header
	h.SetContentType(a.contentType, nil)
	// Not SetFilename: that puts an encoded word into the parameter (against RFC 2047,
	// section 5), where RFC 2231 has a form of its own.
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.name}))
	h.Set("Content-Transfer-Encoding", "base64")
	return writePart(mw, h, a.content)
}

// writePart adds one part with its content to a multipart message.
func writePart(mw *message.Writer, h message.Header, content source) error {
	part, err := mw.CreatePart(h)
	if err != nil {
		return err
	}
	if err := content(part); err != nil {
		return err
	}
	return part.Close()
}
