package apiclient

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

var (
	errContentRange = errors.New("the Content-Range field cannot be read")
	errShort        = errors.New("the answer ends before the content does")
	errLong         = errors.New("the answer goes on after the content's end")
)

// contentRange is a Content-Range field.
type contentRange struct {
	first, last int64
	total       int64 // archive.SizeUnknown when not told
}

// parseContentRange reads "bytes 5-9/10" or "bytes 5-9/*" (RFC 9110, section 14.4).
func parseContentRange(field string) (contentRange, error) {
	unit, rest, _ := strings.Cut(field, " ")
	span, total, _ := strings.Cut(rest, "/")
	first, last, ok := strings.Cut(span, "-")
	if !ok || !strings.EqualFold(unit, "bytes") {
		return contentRange{}, errContentRange
	}
	part := contentRange{total: archive.SizeUnknown}
	for _, number := range []struct {
		text string
		into *int64
	}{{first, &part.first}, {last, &part.last}, {total, &part.total}} {
		if number.text == "*" && number.into == &part.total {
			continue
		}
		n, err := strconv.ParseUint(number.text, 10, 63)
		if err != nil {
			return contentRange{}, errContentRange
		}
		*number.into = int64(n)
	}
	if part.last < part.first || part.total != archive.SizeUnknown && part.last >= part.total {
		return contentRange{}, errContentRange
	}
	return part, nil
}

// complete is a body that must reach the end of the content: a service may cut a range
// short, and the head of its answer says so where nobody looks.
type complete struct {
	io.ReadCloser
	op   Operation
	left int64
}

// Read implements io.Reader.
func (b *complete) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	switch {
	case b.left < 0:
		return 0, &archive.Error{Op: string(b.op), Kind: archive.KindProtocol, Err: errLong}
	case errors.Is(err, io.EOF) && b.left > 0:
		err = &archive.Error{Op: string(b.op), Kind: archive.KindInterrupted, Err: errShort}
	}
	return n, err
}
