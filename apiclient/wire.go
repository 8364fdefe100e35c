package apiclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/archivefs/archivefs/archive"
)

// scalar is the text of a string, number or boolean, of whichever type the service wrote. Null,
// an object or an array reads as absent; an array of one element reads as the element.
type scalar struct {
	text string
	set  bool
}

func (s *scalar) UnmarshalJSON(b []byte) error {
	*s = scalarOf(b)
	return nil
}

func (r *jsonReader) scalar(s *scalar) error {
	value, err := r.raw()
	if err == nil {
		*s = scalarOf(value)
	}
	return err
}

// scalarOf decodes valid JSON.
func scalarOf(value []byte) scalar {
	switch value[0] {
	case 'n', '{':
		return scalar{}
	case '[':
		var elements []json.RawMessage
		if err := json.Unmarshal(value, &elements); err != nil || len(elements) != 1 || elements[0][0] == '[' {
			return scalar{}
		}
		return scalarOf(elements[0])
	case '"':
		return scalar{text: string(unquote(value)), set: true}
	}
	return scalar{text: string(value), set: true}
}

// int64 returns the number in s; false if it is none, has a fraction, or does not fit.
func (s scalar) int64() (int64, bool) {
	text := strings.TrimSpace(s.text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// id returns the ID in s, 0 for none.
func (s scalar) id() archive.ID {
	n, ok := s.int64()
	if !ok {
		return 0
	}
	return archive.NewID(n)
}

// count returns a small number, such as of pages; 0 for none.
func (s scalar) count() int {
	n, ok := s.int64()
	if !ok || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int(n)
}

// largestSize is the largest plausible length in bytes: 1 PiB.
const largestSize = 1 << 50

// size returns a length in bytes, archive.SizeUnknown for none.
func (s scalar) size() int64 {
	n, ok := s.int64()
	if !ok || n < 0 || n > largestSize {
		return archive.SizeUnknown
	}
	return n
}

func (s scalar) flag() archive.Flag {
	switch strings.ToLower(strings.TrimSpace(s.text)) {
	case "true", "1":
		return archive.FlagTrue
	case "false", "0":
		return archive.FlagFalse
	}
	return archive.FlagUnknown
}

// list is an array, of which some services write a single element without brackets. An element of
// another type reads as its zero value.
type list[T any] []T

func (l *list[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	if b[0] == 'n' {
		return nil
	}
	if b[0] == '[' {
		return lenient(json.Unmarshal(b, (*[]T)(l)))
	}
	var one T
	if err := json.Unmarshal(b, &one); err != nil {
		return lenient(err)
	}
	*l = list[T]{one}
	return nil
}

// lenient ignores the error of a value of another type.
func lenient(err error) error {
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// words are keywords or document types: an array of strings, or one string with commas.
type words []string

func (w *words) UnmarshalJSON(b []byte) error { return readerOf(b).words(w) }

func (r *jsonReader) words(w *words) error {
	*w = nil
	var s scalar
	if r.kind() != '[' {
		err := r.scalar(&s)
		*w = splitList(s.text)
		return err
	}
	return r.elements(func() error {
		err := r.scalar(&s)
		if err == nil && s.text != "" {
			*w = append(*w, s.text)
		}
		return err
	})
}

// pairs are external metadata, in the service's order: an array of objects with key and value,
// one such object, or an object from keys to values.
type pairs []archive.KeyValue

func (p *pairs) UnmarshalJSON(b []byte) error { return readerOf(b).pairs(p) }

func (r *jsonReader) pairs(p *pairs) error {
	*p = nil
	switch r.kind() {
	case '[':
		return r.elements(func() error { return r.pair(p) })
	case '{':
		return r.object(p)
	}
	return r.skip()
}

// pair reads an element of an array and appends it.
func (r *jsonReader) pair(p *pairs) error {
	if r.kind() != '{' {
		return r.skip()
	}
	var key, value scalar
	err := r.members(func(name []byte) error {
		switch string(name) {
		case "key":
			return r.scalar(&key)
		case "value":
			return r.value(&value)
		}
		return r.skip()
	})
	p.add(key.text, value)
	return err
}

func (r *jsonReader) object(p *pairs) error {
	single := pairs{}
	err := r.namedMembers(func(name []byte) error {
		key := string(name)
		var value scalar
		err := r.value(&value)
		single.add(key, value)
		return err
	})
	if len(single) == 2 && strings.EqualFold(single[0].Key, "key") && strings.EqualFold(single[1].Key, "value") {
		single = pairs{{Key: single[0].Value, Value: single[1].Value}}
	}
	*p = single
	return err
}

// value reads the value of a pair. A value that is no scalar is kept as JSON.
func (r *jsonReader) value(s *scalar) error {
	value, err := r.raw()
	if err != nil {
		return err
	}
	if *s = scalarOf(value); !s.set && value[0] != 'n' {
		*s = scalar{text: string(value), set: true}
	}
	return nil
}

// add appends a pair, unless it has no key or no value.
func (p *pairs) add(key string, value scalar) {
	if key != "" && value.set {
		*p = append(*p, archive.KeyValue{Key: key, Value: value.text})
	}
}

var (
	listEscaper     = strings.NewReplacer(`\`, `\\`, `,`, `\,`)
	metadataEscaper = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`)
)

// EscapeList writes keywords, document types or metadata keys as one field: separated by commas.
// A backslash escapes a comma or backslash within an item. Empty items are left out.
func EscapeList(items []string) string {
	var b strings.Builder
	for _, item := range items {
		if item == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(listEscaper.Replace(item))
	}
	return b.String()
}

// EscapeMetadata writes external metadata as one field: key1=value1,key2=value2. A backslash
// escapes a comma, equals sign or backslash. Entries without a key are left out.
func EscapeMetadata(entries []archive.KeyValue) string {
	var b strings.Builder
	for _, e := range entries {
		if e.Key == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(metadataEscaper.Replace(e.Key) + "=" + metadataEscaper.Replace(e.Value))
	}
	return b.String()
}

// splitList undoes EscapeList, and trims blanks around items.
func splitList(text string) []string {
	var items []string
	var item strings.Builder
	flush := func() {
		if s := strings.TrimSpace(item.String()); s != "" {
			items = append(items, s)
		}
		item.Reset()
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			item.WriteByte(text[i])
		case c == ',':
			flush()
		default:
			item.WriteByte(c)
		}
	}
	flush()
	return items
}

// dateLayouts are the forms of a date other than milliseconds since 1970. Each may have a
// fraction of a second, and a blank in place of the T.
var dateLayouts = [...]string{
	"2006-01-02T15:04:05",
	"2006-01-02T15:04:05Z07:00",
	"2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04:05Z07",
	"2006-01-02T15:04",
	"2006-01-02T15:04Z07:00",
	"2006-01-02",
}

// parseDate returns the date in text, in loc if it names no zone; the zero time for none.
func parseDate(text string, loc *time.Location) time.Time {
	if t, ok := parseUsual(text, loc); ok {
		return t
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}
	}
	if t, ok := parseMillis(text, loc); ok {
		return t
	}
	text, _, _ = strings.Cut(text, "[") // a zone's name after its offset, as java.time writes it
	if date, clock, ok := strings.Cut(text, " "); ok {
		text = date + "T" + strings.ReplaceAll(clock, " ", "")
	}
	for _, layout := range dateLayouts {
		if t, err := time.ParseInLocation(layout, strings.ToUpper(text), loc); err == nil {
			return sensible(t)
		}
	}
	return time.Time{}
}

// parseUsual reads the first of dateLayouts, the form of the specification, as RFC 3339, for which package time
// has a faster parser: a list has two dates for each document.
func parseUsual(text string, loc *time.Location) (time.Time, bool) {
	if len(text) != len(dateLayouts[0]) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, text+"Z")
	if err != nil {
		return time.Time{}, false
	}
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	return sensible(time.Date(year, month, day, hour, minute, second, 0, loc)), true
}

// parseMillis reads milliseconds since 1970; 0 stands for no date.
func parseMillis(text string, loc *time.Location) (time.Time, bool) {
	n, ok := scalar{text: text}.int64()
	if !ok {
		_, err := strconv.ParseFloat(text, 64)
		return time.Time{}, err == nil
	}
	if n == 0 {
		return time.Time{}, true
	}
	return sensible(time.UnixMilli(n).In(loc)), true
}

// sensible returns t, or the zero time if its year is not one of RFC 3339, or is 1, which stands for no date.
func sensible(t time.Time) time.Time {
	if t.Year() < 2 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

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
