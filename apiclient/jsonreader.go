package apiclient

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/archivefs/archivefs/archive"
)

var (
	errEmpty    = errors.New("the answer is empty")
	errTrailing = errors.New("something follows the answer")
)

const byteOrderMark = "\ufeff"

// offsetError is a syntax error in the JSON of an answer.
type offsetError struct {
	offset int64 // of the wrong byte, from 1 on
	err    error
}

func (e *offsetError) Error() string {
	return fmt.Sprintf("broken JSON at byte %d: %v", e.offset, e.err)
}
func (e *offsetError) Unwrap() error { return e.err }

// jsonReader reads a JSON answer value by value, as it arrives. It is strict about syntax and lenient about types: a
// value of an unexpected type reads as absent. wire.go adds methods for the types of the wire.
type jsonReader struct {
	dec   *jsontext.Decoder
	start int64 // bytes before the first that dec reads
}

// newJSONReader returns a reader of the one value in body. It skips a byte order mark.
func newJSONReader(body io.Reader) (*jsonReader, error) {
	buf := bufio.NewReaderSize(body, 64<<10)
	var start int64
	if mark, err := buf.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		start += int64(len(byteOrderMark))
		_, _ = buf.Discard(len(byteOrderMark)) // never fails after Peek
	}
	for ; ; start++ {
		c, err := buf.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil, errEmpty
		case err != nil:
			return nil, err
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		case c == '<':
			return nil, errWebPage
		}
		return &jsonReader{dec: newDecoder(buf), start: start}, buf.UnreadByte()
	}
}

func readerOf(value []byte) *jsonReader { return &jsonReader{dec: newDecoder(bytes.NewReader(value))} }

// newDecoder accepts what encoding/json accepts. Of two members with one name the last one counts.
func newDecoder(source io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(source, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// kind returns the type of the next value by its first character. ']' and '}' are kinds, too. 0
// means that the next read fails.
func (r *jsonReader) kind() jsontext.Kind { return r.dec.PeekKind() }

// raw returns the JSON of the next value. It is valid until the next read.
func (r *jsonReader) raw() (jsontext.Value, error) {
	value, err := r.dec.ReadValue()
	return value, r.fail(err)
}

// skip skips the next value, of any size.
func (r *jsonReader) skip() error { return r.fail(r.dec.SkipValue()) }

// elements calls element for each element of an array. element reads or skips it.
func (r *jsonReader) elements(element func() error) error {
	return r.within(']', element)
}

// oneOrMore is elements for a value that some services write without brackets if there is only one.
func (r *jsonReader) oneOrMore(element func() error) error {
	if r.kind() == '[' {
		return r.elements(element)
	}
	return element()
}

// members calls member for each member of an object, with its name in lower case, valid until the
// next read. member reads or skips the value.
func (r *jsonReader) members(member func(name []byte) error) error {
	return r.namedMembers(func(name []byte) error { return member(lowerCase(name)) })
}

// namedMembers is members with unchanged names.
func (r *jsonReader) namedMembers(member func(name []byte) error) error {
	return r.within('}', func() error {
		name, err := r.raw()
		if err != nil {
			return err
		}
		return member(unquote(name))
	})
}

// within reads an array or object, and calls one for each element or member.
func (r *jsonReader) within(end jsontext.Kind, one func() error) error {
	if err := r.bracket(); err != nil {
		return err
	}
	for r.kind() != end {
		if err := one(); err != nil {
			return err
		}
	}
	return r.bracket()
}

// bracket reads the token that opens or closes an array or object.
func (r *jsonReader) bracket() error {
	_, err := r.dec.ReadToken()
	return r.fail(err)
}

// end returns an error if anything follows the value.
func (r *jsonReader) end() error {
	token, err := r.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return &offsetError{r.start + r.dec.InputOffset(), fmt.Errorf("%w: %.40q", errTrailing, token.String())}
	}
	return r.fail(err)
}

// fail adds the offset to a syntax error.
func (r *jsonReader) fail(err error) error {
	if err == nil {
		return nil
	}
	if transport, ok := errors.AsType[*archive.Error](err); ok {
		return transport
	}
	var syntax *jsontext.SyntacticError
	switch {
	case !errors.As(err, &syntax):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &offsetError{r.start + syntax.ByteOffset, io.ErrUnexpectedEOF}
	}
	return &offsetError{r.start + syntax.ByteOffset + 1, syntax.Err}
}

func unquote(quoted []byte) []byte {
	if inside := quoted[1 : len(quoted)-1]; isPlain(inside) {
		return inside
	}
	text, _ := jsontext.AppendUnquote(nil, quoted) // what is not UTF-8 reads as U+FFFD
	return text
}

// isPlain reports whether the inside of a JSON string stands for itself.
func isPlain(inside []byte) bool {
	return bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside)
}

// lowerCase spares the names that are in lower case, nearly all, the copy.
func lowerCase(name []byte) []byte {
	for _, c := range name {
		if 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf {
			return bytes.ToLower(name)
		}
	}
	return name
}

func trimBOM(text []byte) []byte { return bytes.TrimPrefix(text, []byte(byteOrderMark)) }

// startsMarkup reports whether text is HTML or XML rather than JSON or a plain word.
func startsMarkup(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("<"))
}
