package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// tail is how near the end of a file the place of its table stands, in bytes.
	tail = 2 << 10
	// maxDecoded is how much of streams is decoded in all, in bytes.
	maxDecoded = 16 << 20
	// maxObject is how large an object is, in bytes.
	maxObject = 4 << 20
	// maxRead is how much of a file is read, in bytes.
	maxRead = 64 << 20
	// maxSteps is how many references in a row are followed.
	maxSteps = 8
)

// ErrCutOff says that a PDF does not tell near its end where its objects are (ISO 32000-1, 7.5.5),
// as one that was cut off.
var ErrCutOff = errors.New("the end of the PDF is missing")

// Pages returns how many pages a PDF says it has. It is an error when it has fewer objects than
// that.
func Pages(r io.ReaderAt, size int64) (int, error) {
	f := &file{r: r, size: size, left: maxRead}
	at, err := f.lastTable()
	if err != nil {
		return 0, err
	}
	if err := f.readTables(at); err != nil {
		return 0, err
	}
	catalog, err := f.dict(f.trailer["Root"])
	if err != nil {
		return 0, err
	}
	root, err := f.dict(catalog["Pages"])
	if err != nil {
		return 0, err
	}
	value, err := f.value(root["Count"])
	if err != nil {
		return 0, err
	}
	count, is := value.(int64)
	if !is || count < 0 || count > f.objects() {
		return 0, fmt.Errorf("%w: a wrong number of pages", errSyntax)
	}
	return int(count), nil
}

// file is a PDF that is being read.
type file struct {
	r        io.ReaderAt
	size     int64
	left     int64 // bytes that may be read
	decoded  int64 // bytes of streams so far
	sections []section
	trailer  dict
	unpacked object // the object stream that was used last
	number   int64  // of it
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if f.left -= int64(len(p)); f.left < 0 {
		return 0, fmt.Errorf("%w: too much to read", errSyntax)
	}
	return f.r.ReadAt(p, off)
}

// lastTable finds the table of objects that counts (7.5.5).
func (f *file) lastTable() (int64, error) {
	end := make([]byte, min(tail, f.size))
	if n, err := f.ReadAt(end, f.size-int64(len(end))); n < len(end) && err != nil {
		return 0, err
	}
	const before = "startxref"
	at := bytes.LastIndex(end, []byte(before))
	if at < 0 {
		return 0, ErrCutOff
	}
	words := strings.Fields(string(end[at+len(before):]))
	if len(words) == 0 {
		return 0, errSyntax
	}
	return strconv.ParseInt(words[0], 10, 64)
}

// objects is how many objects the tables tell of.
func (f *file) objects() (n int64) {
	for _, s := range f.sections {
		n += s.count
	}
	return n
}

// object is an object, and of a stream where its bytes begin.
type object struct {
	number int64
	value  any
	dict   dict // of value, if it is one
	at     int64
	data   []byte // of an object stream, decoded
}

// objectAt reads the object at an offset (7.3.10).
func (f *file) objectAt(at int64) (object, error) {
	l, err := f.lexer(at)
	if err != nil {
		return object{}, err
	}
	number, err1 := l.object(0)
	_, err2 := l.object(0)
	begin, err3 := l.object(0)
	o := object{}
	o.number, _ = number.(int64)
	if err := errors.Join(err1, err2, err3); err != nil || begin != word("obj") {
		return object{}, errSyntax
	}
	if o.value, err = l.object(0); err != nil {
		return object{}, err
	}
	o.dict, _ = o.value.(dict)
	if o.dict != nil {
		if begin, err := l.object(0); err == nil && begin == word("stream") {
			if c, _ := l.next(); c == '\r' {
				_, _ = l.next()
			}
			o.at = at + l.at
		}
	}
	return o, nil
}

// value follows references.
func (f *file) value(v any) (any, error) {
	for range maxSteps {
		to, is := v.(ref)
		if !is {
			return v, nil
		}
		at, err := f.find(to.number)
		if err != nil {
			return nil, err
		}
		o := object{}
		if at.inStream {
			o, err = f.unpack(at, to.number)
		} else if o, err = f.objectAt(at.at); err == nil && o.number != to.number {
			err = errSyntax
		}
		if err != nil {
			return nil, err
		}
		v = o.value
	}
	return nil, errSyntax
}

// dict is value for a dictionary.
func (f *file) dict(v any) (dict, error) {
	v, err := f.value(v)
	if err != nil {
		return nil, err
	}
	d, is := v.(dict)
	if !is {
		return nil, errSyntax
	}
	return d, nil
}

// unpack reads an object of an object stream (7.5.7).
func (f *file) unpack(at place, number int64) (object, error) {
	if f.trailer["Encrypt"] != nil {
		return object{}, fmt.Errorf("%w: encrypted", errSyntax)
	}
	if f.unpacked.data == nil || f.number != at.at {
		in, err := f.find(at.at)
		if err != nil || in.inStream {
			return object{}, errSyntax
		}
		stream, err := f.objectAt(in.at)
		if err != nil {
			return object{}, err
		}
		if stream.data, err = f.decode(stream); err != nil {
			return object{}, err
		}
		f.unpacked, f.number = stream, at.at
	}
	first, _ := f.unpacked.dict["First"].(int64)
	data := f.unpacked.data
	if first < 0 || first > int64(len(data)) {
		return object{}, errSyntax
	}
	l := newLexer(bytes.NewReader(data[:first]))
	for range at.index + 1 {
		found, err1 := l.object(0)
		offset, err2 := l.object(0)
		if err := errors.Join(err1, err2); err != nil {
			return object{}, err
		}
		begin, is := offset.(int64)
		if found != number {
			continue
		}
		if begin += first; !is || begin < first || begin > int64(len(data)) {
			return object{}, errSyntax
		}
		value, err := newLexer(bytes.NewReader(data[begin:])).object(0)
		return object{number: number, value: value}, err
	}
	return object{}, errSyntax
}
