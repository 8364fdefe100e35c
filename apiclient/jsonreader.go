package apiclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

var (
	errEmpty    = errors.New("the answer is empty")
	errTrailing = errors.New("something follows the answer")
)

const byteOrderMark = "\ufeff"

// offsetError says where in an answer its JSON breaks.
type offsetError struct {
	offset int64 // bytes of the answer that were sound, and the one that is not
	err    error
}

func (e *offsetError) Error() string {
	return fmt.Sprintf("broken JSON at byte %d: %v", e.offset, e.err)
}
func (e *offsetError) Unwrap() error { return e.err }

// jsonReader reads a JSON answer piece by piece. It is strict about syntax and lenient
// about shape: a value of another type than described reads as absent.
type jsonReader struct {
	dec   *json.Decoder
	start int64 // bytes before the value: byte order mark, white space
	first byte  // of the value: tells its type
}

// newJSONReader returns a reader of body's one value, past a byte order mark.
func newJSONReader(body io.Reader) (*jsonReader, error) {
	buf := bufio.NewReaderSize(body, 64<<10)
	r := &jsonReader{dec: json.NewDecoder(buf)}
	if mark, err := buf.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		r.start += int64(len(byteOrderMark))
		_, _ = buf.Discard(len(byteOrderMark)) // what was peeked can be discarded
	}
	for {
		c, err := buf.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil, errEmpty
		case err != nil:
			return nil, err
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			r.start++
			continue
		case c == '<':
			return nil, errWebPage
		}
		r.first = c
		return r, buf.UnreadByte()
	}
}

// value decodes the next value into v, which stays as it is when its shape is another.
func (r *jsonReader) value(v any) error {
	err := r.dec.Decode(v)
	var shape *json.UnmarshalTypeError
	if err == nil || errors.As(err, &shape) {
		return nil
	}
	return r.fail(err)
}

// token returns the next token.
func (r *jsonReader) token() (json.Token, error) {
	token, err := r.dec.Token()
	if err != nil {
		return nil, r.fail(err)
	}
	return token, nil
}

// more reports whether the array or object has another element.
func (r *jsonReader) more() bool { return r.dec.More() }

// skip passes over the next value, however large.
func (r *jsonReader) skip() error {
	token, err := r.token()
	if err != nil {
		return err
	}
	return r.skipRest(token)
}

// skipRest passes over what is left of the value that token began.
func (r *jsonReader) skipRest(token json.Token) error {
	for depth := 0; ; {
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if depth == 0 {
			return nil
		}
		var err error
		if token, err = r.token(); err != nil {
			return err
		}
	}
}

// members calls member with each key of an object whose brace has been read; member
// reads or skips the value.
func (r *jsonReader) members(member func(key string) error) error {
	for r.more() {
		key, err := r.token()
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return r.fail(fmt.Errorf("%v is no key", key))
		}
		if err := member(strings.ToLower(name)); err != nil {
			return err
		}
	}
	_, err := r.token() // the closing brace
	return err
}

// end reports what follows the value.
func (r *jsonReader) end() error {
	token, err := r.dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		err = fmt.Errorf("%w: %.40q", errTrailing, fmt.Sprint(token))
	}
	return r.fail(err)
}

// fail adds to err where the answer breaks, unless the transport broke.
func (r *jsonReader) fail(err error) error {
	var transport *archive.Error
	if errors.As(err, &transport) {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &offsetError{r.offset(err), err}
}

// offset returns where the answer breaks with err. The decoder counts only to the
// beginning of a value, so that value is scanned once more.
func (r *jsonReader) offset(err error) int64 {
	sound := r.start + r.dec.InputOffset()
	rest, readErr := io.ReadAll(r.dec.Buffered())
	if readErr != nil {
		return sound
	}
	var syntax *json.SyntaxError
	var value json.RawMessage
	again := json.NewDecoder(bytes.NewReader(rest)).Decode(&value)
	switch {
	case errors.As(again, &syntax):
		return sound + syntax.Offset
	case errors.Is(again, io.ErrUnexpectedEOF):
		return sound + int64(len(rest))
	case errors.As(err, &syntax):
		return sound + 1 // a token out of place: its first byte
	}
	return sound
}

func trimBOM(text []byte) []byte { return bytes.TrimPrefix(text, []byte(byteOrderMark)) }

// startsMarkup reports whether text is HTML or XML rather than JSON or a plain word.
func startsMarkup(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("<"))
}
