package mail

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"net/textproto"
	"strings"
)

var (
	// ErrBroken says that an e-mail cannot be read to its end.
	ErrBroken = errors.New("the e-mail cannot be read")
	// ErrTooMuch says that there is more in an e-mail than is taken.
	ErrTooMuch = errors.New("the e-mail has too much in it")
)

const (
	// MaxAttachments is how many attachments an e-mail may have.
	MaxAttachments = 500
	// maxDepth is how deep parts may lie in one another, and maxParts how many there may be.
	maxDepth, maxParts = 20, 5000
	// maxText is how much of the texts is read, in bytes.
	maxText = 4 << 20
	// maxHeader is the largest header of an e-mail, in bytes.
	maxHeader = 1 << 20
)

// Message is what an e-mail says.
type Message struct {
	Header      string   // who, when and about what, a line for each
	Text        string   // of HTML where there is nothing else
	Attachments []string // their names, as far as they have any
}

// Attachment is what an attachment is called, and said to be.
type Attachment struct {
	Name        string // as the sender wrote it; empty when there is none
	ContentType string // media type
}

// Read reads an e-mail. It calls take, when there is one, for each attachment in order; the
// reader ends with the call, and need not be read. The text and the names that were read come
// also beside ErrBroken and ErrTooMuch. An error of take or of r is returned wrapped.
//
// Attachments are all parts but the text, the pictures that a text of HTML shows, signatures and
// reports about delivery. What was encrypted stays whole, and so has no attachments; an e-mail that is
// attached is one attachment with all that is in it.
func Read(r io.Reader, take func(Attachment, io.Reader) error) (Message, error) {
	source := &source{Reader: r}
	top, err := mail.ReadMessage(bufio.NewReader(&io.LimitedReader{R: source, N: maxHeader}))
	if err != nil {
		return Message{}, source.blame(err)
	}
	// What follows the header is not limited any more.
	top.Body = io.MultiReader(top.Body, source)
	d := &dissection{take: take, shown: map[string]bool{}}
	said, err := d.part(textproto.MIMEHeader(top.Header), top.Body, place{})
	d.message.Header, d.message.Text = summary(top.Header), said.text
	if err != nil && !errors.Is(err, errTake) {
		err = source.blame(err)
	}
	return d.message, err
}

// String is the e-mail as people read it.
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

// summary is the part of a header that people read.
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

// blame tells a reader that failed from an e-mail that is broken.
func (s *source) blame(err error) error {
	switch {
	case s.err != nil:
		return fmt.Errorf("read e-mail: %w", s.err)
	case errors.Is(err, ErrTooMuch), errors.Is(err, ErrBroken):
		return err
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}
