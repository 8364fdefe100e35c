// Package pdf counts the pages of a PDF (ISO 32000-1). It reads no more than that takes: from the end of the file, the
// cross-reference table, the catalog and the root of the page tree. Libraries read all objects first, which takes
// seconds and a gigabyte for a malicious file. Nothing is repaired: a PDF that cannot be read is an error.
package pdf

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/internal/whole"
)

const (
	// maxDecoded bounds the decoded bytes of all streams.
	maxDecoded = 16 << 20
	// maxObject is the largest object, in bytes.
	maxObject = 4 << 20
	// maxRead is how much of a file is read, in bytes.
	maxRead = 64 << 20
	// maxSteps bounds a chain of references.
	maxSteps = 8
)

// ErrUncounted says that the page count of a PDF cannot be read.
var ErrUncounted = errors.New("the page count of the PDF cannot be read")

// Pages returns the page count that a PDF declares. A count above the number of its objects is an
// error, whole.ErrIncomplete if the PDF lacks its end, or names no table there.
func Pages(r io.ReaderAt, size int64) (int, error) {
	found, is, err := whole.FindPDF(io.NewSectionReader(r, 0, size))
	switch {
	case err != nil:
		return 0, err
	case !is:
		return 0, ErrUncounted
	case !found.Whole, found.Table < 0:
		return 0, whole.ErrIncomplete
	}
	n, err := pagesFrom(r, size, found.Start, found.Table)
	if err != nil && found.Start > 0 { // some programs count what they put in front
		n, err = pagesFrom(r, size, 0, found.Table)
	}
	return n, err
}

// pagesFrom is Pages of a PDF whose offsets count from start on.
func pagesFrom(r io.ReaderAt, size, start, table int64) (int, error) {
	f := &file{r: io.NewSectionReader(r, start, size-start), size: size - start, left: maxRead}
	if !f.readTables(table) {
		return 0, errors.Join(ErrUncounted, f.err)
	}
	root := f.dict(f.dict(f.trailer["Root"])["Pages"])
	count, is := f.value(root["Count"]).(int64)
	if !is || count < 0 || count > f.objects() || f.err != nil {
		return 0, errors.Join(ErrUncounted, f.err)
	}
	return int(count), nil
}

// file is a PDF that is being read. Unreadable parts count as absent.
type file struct {
	r        io.ReaderAt
	size     int64
	left     int64 // bytes that may be read
	err      error // of reading
	decoded  int64 // bytes of streams so far
	sections []section
	trailer  dict
	unpacked object // the object stream that was used last
	busy     bool   // unpacked is being decoded
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if f.left -= int64(len(p)); f.left < 0 {
		f.err = errors.New("too much to read")
		return 0, f.err
	}
	n, err := f.r.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// lexer reads from an offset on, which may lie outside the file.
func (f *file) lexer(at int64) *lexer {
	if at < 0 || at > f.size {
		at = f.size
	}
	return newLexer(f, at, min(maxObject, f.size-at))
}

// object is an object; for a stream, at is the offset of its bytes.
type object struct {
	number int64
	value  any
	dict   dict // of value, if it is one
	at     int64
	data   []byte // of an object stream, decoded
}

// objectAt reads the object at an offset (7.3.10).
func (f *file) objectAt(at int64) (o object) {
	l := f.lexer(at)
	o.number, _ = l.object().(int64)
	if _ = l.object(); l.object() != word("obj") {
		return object{}
	}
	o.value = l.object()
	o.dict, _ = o.value.(dict)
	if o.dict != nil && l.object() == word("stream") {
		if c, _ := l.ReadByte(); c == '\r' {
			_, _ = l.ReadByte()
		}
		o.at = at + l.read()
	}
	return o
}

// value returns what v refers to, directly or by references.
func (f *file) value(v any) any {
	for range maxSteps {
		to, is := v.(ref)
		if !is {
			return v
		}
		v = nil
		if at := f.find(int64(to)); at.packed {
			v = f.unpack(at.at, int64(to))
		} else if o := f.objectAt(at.at); o.number == int64(to) {
			v = o.value
		}
	}
	return nil
}

// dict is value for a dictionary.
func (f *file) dict(v any) dict {
	d, _ := f.value(v).(dict)
	return d
}

// unpack reads an object from an object stream (7.5.7). The length of such a stream cannot itself be in one.
func (f *file) unpack(stream, number int64) any {
	at := f.find(stream)
	if at.packed || f.busy || f.trailer["Encrypt"] != nil {
		return nil
	}
	if f.unpacked.data == nil || f.unpacked.number != stream {
		f.unpacked, f.busy = f.objectAt(at.at), true
		f.unpacked.number, f.unpacked.data = stream, f.decode(f.unpacked)
		f.busy = false
	}
	data := bytes.NewReader(f.unpacked.data)
	first, _ := f.unpacked.dict["First"].(int64)
	if first < 0 || first > data.Size() {
		return nil
	}
	for l := newLexer(data, 0, first); ; {
		found, offset := l.object(), l.object()
		begin, is := offset.(int64)
		begin += first
		switch {
		case offset == failed:
			return nil
		case found == number && is && begin >= first && begin <= data.Size():
			return newLexer(data, begin, data.Size()-begin).object()
		}
	}
}

const (
	lineSize    = 20
	maxSections = 1000
	maxTables   = 300 // each incremental update adds one
)

// section is a part of the cross-reference table, with the places of count objects.
type section struct {
	first, count int64
	place        func(i int64) place
}

// place is where an object is: at an offset, or in an object stream.
type place struct {
	at     int64
	packed bool // at is the number of the stream then
}

// nowhere is the place of a missing object.
var nowhere = place{at: -1}

// objects is the number of objects in the tables.
func (f *file) objects() (n int64) {
	for _, s := range f.sections {
		n += s.count
	}
	return n
}

// find looks an object up, in the latest table that has it.
func (f *file) find(number int64) place {
	for _, s := range f.sections {
		if number >= s.first && number-s.first < s.count {
			return s.place(number - s.first)
		}
	}
	return nowhere
}

// readTables reads the tables from the latest to the first.
func (f *file) readTables(at int64) bool {
	seen := map[int64]bool{}
	for next := []int64{at}; len(next) > 0; next = next[1:] {
		at := next[0]
		if seen[at] {
			continue
		}
		seen[at] = true
		trailer := f.readTable(at)
		if trailer == nil || len(seen) > maxTables {
			return false
		}
		if f.trailer == nil {
			f.trailer = trailer
		}
		for _, key := range []name{"XRefStm", "Prev"} {
			if at, is := trailer[key].(int64); is {
				next = append(next, at)
			}
		}
	}
	return true
}

// readTable reads one table and returns its trailer, or nil.
func (f *file) readTable(at int64) dict {
	if l := f.lexer(at); l.object() == word("xref") {
		return f.readLines(at, l)
	}
	if o := f.objectAt(at); o.dict["Type"] == name("XRef") && f.readStream(o) {
		return o.dict
	}
	return nil
}

// readLines notes the positions of the lines of a table (7.5.4), without reading them.
func (f *file) readLines(at int64, l *lexer) dict {
	for len(f.sections) < maxSections {
		item := l.object()
		if item == word("trailer") {
			trailer, _ := l.object().(dict)
			return trailer
		}
		first, is := item.(int64)
		count, also := l.object().(int64)
		if !is || !also || first < 0 || count < 0 || count > f.size/lineSize+1 {
			return nil
		}
		if _, err := l.skip(); err != nil {
			return nil
		}
		_ = l.UnreadByte()
		begin := at + l.read()
		f.sections = append(f.sections, section{first, count, func(i int64) place { return f.line(begin + i*lineSize) }})
		at = begin + count*lineSize
		l = f.lexer(at)
	}
	return nil
}

// line reads a line of a table: an offset, a generation, and n for an object in use.
func (f *file) line(at int64) place {
	l := f.lexer(at)
	offset, is := l.object().(int64)
	if _ = l.object(); !is || l.object() != word("n") {
		return nowhere
	}
	return place{at: offset}
}

// readStream reads the sections of a cross-reference stream (7.5.8).
func (f *file) readStream(o object) bool {
	widths, _ := o.dict["W"].(array)
	if len(widths) < 3 {
		return false
	}
	var ends [3]int64 // of the fields of an entry
	size := int64(0)
	for i := range ends {
		width, is := widths[i].(int64)
		if !is || width < 0 || width > 8 {
			return false
		}
		size += width
		ends[i] = size
	}
	data := f.decode(o)
	if data == nil || size == 0 {
		return false
	}
	index, _ := o.dict["Index"].(array)
	if index == nil {
		index = array{int64(0), o.dict["Size"]}
	}
	for i := 0; i+1 < len(index) && len(f.sections) < maxSections; i += 2 {
		first, is := index[i].(int64)
		count, also := index[i+1].(int64)
		if !is || !also || first < 0 || count < 0 {
			return false
		}
		count = min(count, int64(len(data))/size)
		entries := data
		f.sections = append(f.sections, section{first, count, func(i int64) place {
			return entry(entries[i*size:], ends[0], ends[1])
		}})
		data = data[count*size:]
	}
	return true
}

// entry reads an entry of a cross-reference stream: type 1, the default, with an offset, or type 2
// with the number of an object stream.
func entry(b []byte, kind, at int64) place {
	switch where := integer(b[kind:at]); {
	case kind == 0 || integer(b[:kind]) == 1:
		return place{at: where}
	case integer(b[:kind]) == 2:
		return place{at: where, packed: true}
	}
	return nowhere
}

func integer(b []byte) (n int64) {
	for _, c := range b {
		n = n<<8 | int64(c)
	}
	return n
}

// decode returns the bytes of a stream (7.4), or nil.
func (f *file) decode(o object) []byte {
	n, is := f.value(o.dict["Length"]).(int64)
	if !is || o.at == 0 || n < 0 || n > f.size-o.at {
		return nil
	}
	var data io.Reader = io.NewSectionReader(f, o.at, n)
	switch only(o.dict["Filter"]) {
	case nil:
	case name("FlateDecode"):
		unpacked, err := zlib.NewReader(data)
		if err != nil {
			return nil
		}
		data = unpacked
	default:
		return nil
	}
	decoded, err := io.ReadAll(io.LimitReader(data, maxDecoded-f.decoded+1))
	if f.decoded += int64(len(decoded)); f.decoded > maxDecoded || err != nil && len(decoded) == 0 {
		return nil
	}
	if parms, is := only(o.dict["DecodeParms"]).(dict); is {
		return unpredicted(decoded, parms)
	}
	return decoded
}

// only returns the element of a list of one, and anything else unchanged.
func only(v any) any {
	if list, is := v.(array); is && len(list) == 1 {
		return list[0]
	}
	return v
}

// unpredicted undoes a PNG predictor (7.4.4.4), the only kind that cross-reference streams use.
func unpredicted(data []byte, parms dict) []byte {
	predictor, _ := parms["Predictor"].(int64)
	if predictor < 2 {
		return data
	}
	columns, _ := parms["Columns"].(int64)
	if predictor < 10 || columns < 1 || columns > 64 || parms["Colors"] != nil && parms["Colors"] != int64(1) {
		return nil
	}
	above := make([]byte, columns)
	plain := make([]byte, 0, len(data))
	for row := int(columns) + 1; len(data) >= row; data = data[row:] {
		line := data[1:row]
		var left, corner byte
		for i, up := range above {
			switch data[0] {
			case 0:
			case 1:
				line[i] += left
			case 2:
				line[i] += up
			case 3:
				line[i] += byte((int(left) + int(up)) / 2) //nolint:gosec // the mean of two bytes is one
			case 4:
				line[i] += paeth(left, up, corner)
			default:
				return nil
			}
			left, corner = line[i], up
		}
		plain, above = append(plain, line...), line
	}
	return plain
}

// paeth is the neighbour that is nearest to left + up - corner (PNG, 9.4).
func paeth(left, up, corner byte) byte {
	p := int(left) + int(up) - int(corner)
	a, b, c := abs(p-int(left)), abs(p-int(up)), abs(p-int(corner))
	switch {
	case a <= b && a <= c:
		return left
	case b <= c:
		return up
	}
	return corner
}

func abs(n int) int { return max(n, -n) }

// Objects are int64 (also for real numbers), name, word, ref, dict, array, and nil for strings,
// booleans and null, which are not needed here.
type (
	name  string
	word  string // a keyword, such as obj
	dict  map[name]any
	array []any
	ref   int64 // the number of an object
)

// failed stands for an object that cannot be read.
const failed = word("")

const (
	maxDepth = 32
	maxToken = 128 // longer names, numbers and keywords are shortened to so many bytes
)

// lexer reads objects (7.3).
type lexer struct {
	*bufio.Reader
	from *io.SectionReader
}

func newLexer(r io.ReaderAt, at, size int64) *lexer {
	from := io.NewSectionReader(r, at, size)
	return &lexer{bufio.NewReaderSize(from, 1024), from}
}

// read is how many bytes were read.
func (l *lexer) read() int64 {
	at, _ := l.from.Seek(0, io.SeekCurrent)
	return at - int64(l.Buffered())
}

func isSpace(c byte) bool { return strings.IndexByte(" \n\r\t\f\x00", c) >= 0 }

func isDelimiter(c byte) bool { return strings.IndexByte("()<>[]{}/%", c) >= 0 }

// skip skips white space and comments, and returns the next byte.
func (l *lexer) skip() (byte, error) {
	for comment := false; ; {
		c, err := l.ReadByte()
		comment = c == '%' || comment && c != '\n' && c != '\r'
		if err != nil || !comment && !isSpace(c) {
			return c, err
		}
	}
}

// object reads one object or keyword. A reference is two numbers and a keyword, which list combines.
func (l *lexer) object() any { return l.nested(0) }

func (l *lexer) nested(depth int) any {
	c, err := l.skip()
	if err != nil || depth > maxDepth {
		return failed
	}
	switch c {
	case '(':
		return l.text()
	case '[':
		if items, whole := l.list("]", depth); whole {
			return items
		}
		return failed
	case '<':
		if c, err = l.ReadByte(); c == '<' {
			return l.dict(depth)
		}
		for err == nil && c != '>' {
			c, err = l.ReadByte()
		}
		if err != nil {
			return failed
		}
		return nil
	case '/':
		return name(l.token())
	case ')', ']', '>', '{', '}':
		return word(c)
	}
	_ = l.UnreadByte()
	token := l.token()
	if n, err := strconv.ParseFloat(token, 64); err == nil && c <= '9' {
		return int64(n)
	}
	switch token {
	case "true", "false", "null":
		return nil
	}
	return word(token)
}

// token reads to the next white space or delimiter.
func (l *lexer) token() string {
	var kept []byte
	for {
		c, err := l.ReadByte()
		if err != nil {
			return string(kept)
		}
		if isSpace(c) || isDelimiter(c) {
			_ = l.UnreadByte()
			return string(kept)
		}
		if len(kept) < maxToken {
			kept = append(kept, c)
		}
	}
}

// text skips a string in parentheses.
func (l *lexer) text() any {
	for open := 1; open > 0; {
		c, err := l.ReadByte()
		switch {
		case err != nil:
			return failed
		case c == '\\':
			_, _ = l.Discard(1)
		case c == '(':
			open++
		case c == ')':
			open--
		}
	}
	return nil
}

// list reads objects up to end, and combines references.
func (l *lexer) list(end word, depth int) (items array, whole bool) {
	for {
		switch item := l.nested(depth + 1).(type) {
		case word:
			n := len(items)
			if item == end || item != "R" || n < 2 {
				return items, item == end
			}
			number, is := items[n-2].(int64)
			if !is {
				return nil, false
			}
			items = append(items[:n-2], ref(number))
		default:
			items = append(items, item)
		}
	}
}

// dict reads the rest of a dictionary.
func (l *lexer) dict(depth int) any {
	items, whole := l.list(">", depth)
	if c, _ := l.ReadByte(); !whole || c != '>' || len(items)%2 != 0 {
		return failed
	}
	d := make(dict, len(items)/2)
	for i := 0; i < len(items); i += 2 {
		key, is := items[i].(name)
		if !is {
			return failed
		}
		d[key] = items[i+1]
	}
	return d
}
