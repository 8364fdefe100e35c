package server

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/limits"
	"github.com/archivefs/archivefs/internal/server/params"
	"github.com/archivefs/archivefs/internal/server/refusal"
)

// The form fields that carry a file.
const (
	fieldData   = "upload-data"
	fieldBase64 = "upload-data-base64"
)

// fieldCost is what a field counts beside its name and value, in bytes: so there are at most
// some thousand.
const fieldCost = 256

// formAhead is how many bytes of a form are taken from the connection at a time: package
// mime/multipart asks for 4 KiB.
const formAhead = 256 << 10

// submission is a multipart form: a file, staged while it arrived, and other fields.
type submission struct {
	params.Params
	file     receipt
	received bool
	body     *ending
	most     int64 // bytes of the file
}

// bad says what is wrong with the form, of which something was not read: it is too large, it has ended
// too early, or what err says.
func (u *submission) bad(err error, what string) error {
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return tooLongFor(u.most)
	}
	if u.body.cutOff() && archive.KindOf(err) != archive.KindTimeout {
		return refusal.New(archive.KindInvalid, "%s: the body ends without the form's closing delimiter", what)
	}
	return badBody(err, what)
}

// tooLongFor refuses a form that is longer than one with such a file.
func tooLongFor(most int64) error {
	return refusal.New(archive.KindTooLarge, "the body is too large for a file of at most %s and its fields", limits.Amount(most))
}

// submission reads a multipart form, in whatever order its fields come, to its end: a
// body that was cut off is an error and leaves nothing. The caller discards it.
func (h *uploadHandlers) submission(w *response, r *request) (_ *submission, err error) {
	boundary, err := wantBody(r, "multipart/form-data")
	if err != nil {
		return nil, err
	}
	if boundary["boundary"] == "" {
		return nil, refusal.New(archive.KindInvalid, "the form cannot be read: its Content-Type has no boundary")
	}
	limit := h.most + h.most/3 + 4*maxForm // base64, fields
	if fits(r, limit) != nil {
		return nil, tooLongFor(h.most)
	}
	ahead := h.readers.Get().(*bufio.Reader) // of New
	defer h.readers.Put(ahead)
	ahead.Reset(http.MaxBytesReader(w, r.Body, limit))
	defer ahead.Reset(nil)
	body := newEnding(struct {
		io.Reader
		io.Closer
	}{ahead, r.Body}, boundary["boundary"])
	r.Body = body
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, badBody(err, "the form cannot be read")
	}
	u := &submission{Params: params.Params{Values: url.Values{}}, body: body, most: h.most}
	w.form = u.Values
	defer func() {
		if err != nil && u.received {
			h.discard(u.file)
		}
	}()
	left := int64(maxForm)
	for {
		part, err := parts.NextPart()
		if err == io.EOF { // not errors.Is: wrapped, it says that the end of the form is missing
			break
		}
		if err != nil {
			return nil, u.bad(err, "the form cannot be read")
		}
		if err := h.part(r, u, part, &left); err != nil {
			return nil, err
		}
	}
	switch {
	case !body.closed():
		return nil, refusal.New(archive.KindInvalid, "the form is cut off: its closing delimiter is missing")
	case !u.received:
		return nil, refusal.Invalid(fieldData, "required")
	}
	return u, nil
}

// part takes one field of the form; left is how many bytes of text it may still have.
func (h *uploadHandlers) part(r *request, u *submission, part *multipart.Part, left *int64) error {
	name := part.FormName()
	if name == fieldData || name == fieldBase64 {
		if u.received {
			return refusal.Invalid(name, "there is more than one file")
		}
		return h.filePart(r, u, part, name == fieldBase64)
	}
	if part.FileName() != "" {
		return refusal.Invalid(cmp.Or(shortened(archive.Printable(name)), fieldData), "a file belongs in %s, and this field takes none", fieldData)
	}
	value, err := io.ReadAll(io.LimitReader(part, *left+1))
	if err != nil {
		return u.bad(err, "the form cannot be read")
	}
	if *left -= int64(len(name) + len(value) + fieldCost); *left < 0 {
		return refusal.Fields{{Name: name, Err: refusal.New(archive.KindTooLarge, "the fields are larger than %s", limits.Amount(maxForm))}}
	}
	if name != "" {
		u.Values.Add(name, string(value))
	}
	return nil
}

// filePart stages the file.
func (h *uploadHandlers) filePart(r *request, u *submission, part *multipart.Part, encoded bool) error {
	content := &bounded{Reader: part, left: h.most, limit: h.most}
	name := fileName(part.FileName())
	if encoded {
		content.Reader, name = base64.NewDecoder(base64.StdEncoding, part), ""
	}
	file, err := h.receive(r.Context(), r.who.party(), content, name, part.Header.Get("Content-Type"))
	switch {
	case err == nil:
		u.file, u.received = file, true
		return nil
	case archive.KindOf(err) == archive.KindTooLarge:
		return refusal.Blame(part.FormName(), err)
	case content.failed != nil && encoded && !u.body.cutOff():
		const what = "not base64 as in RFC 4648, section 4"
		if content.failed == io.ErrUnexpectedEOF { //nolint:errorlint // of the decoder itself, at its end
			return refusal.Blame(part.FormName(), refusal.New(archive.KindInvalid, what+": it has no whole number of groups of four letters"))
		}
		return refusal.Blame(part.FormName(), u.bad(content.failed, what))
	case content.failed != nil:
		return refusal.Blame(part.FormName(), u.bad(content.failed, "the file cannot be read"))
	}
	return err
}

// bounded reads at most limit bytes; more is KindTooLarge.
type bounded struct {
	io.Reader
	left, limit int64
	failed      error // of the sender, and not of our disk
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, refusal.New(archive.KindTooLarge, "the file is larger than %s", limits.Amount(b.limit))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed = err
	}
	return n, err
}

// readAhead is more than package mime/multipart reads beyond the end of a form.
const readAhead = 8 << 10

// ending remembers the end of what was read of a multipart body. Package mime/multipart
// takes a body that is cut off right after a boundary for complete, so that whether the
// form was closed must be looked at here (RFC 2046, 5.1.1).
type ending struct {
	io.ReadCloser
	delimiter []byte
	last      []byte
	ended     bool
}

func newEnding(body io.ReadCloser, boundary string) *ending {
	e := &ending{ReadCloser: body, delimiter: []byte("--" + boundary + "--")}
	e.last = make([]byte, 0, 2*(readAhead+len(e.delimiter)))
	return e
}

// Read implements io.Reader.
func (e *ending) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	e.ended = e.ended || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
	keep := readAhead + len(e.delimiter)
	if e.last = append(e.last, p[max(0, n-keep):n]...); len(e.last) > keep {
		e.last = append(e.last[:0], e.last[len(e.last)-keep:]...)
	}
	return n, err
}

// cutOff reports whether the body has ended without it.
func (e *ending) cutOff() bool { return e.ended && !e.closed() }

// closed reports whether the closing delimiter was read.
func (e *ending) closed() bool { return bytes.Contains(e.last, e.delimiter) }

// fileName is the name of a file that was sent as a whole path of Windows. A backslash elsewhere is part of a name.
func fileName(sent string) string {
	if strings.HasPrefix(sent, `\`) || windowsDrive.MatchString(sent) {
		return sent[strings.LastIndexByte(sent, '\\')+1:]
	}
	return sent
}

var windowsDrive = regexp.MustCompile(`^[A-Za-z]:\\`)
