package server

import (
	"bytes"
	"errors"
	"io"
)

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
