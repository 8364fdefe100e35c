package pdf

import (
	"bytes"
	"errors"
	"io"
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

var (
	// ErrCutOff says that a PDF does not tell near its end where its objects are (ISO 32000-1, 7.5.5),
	// as one that was cut off.
	ErrCutOff = errors.New("the end of the PDF is missing")
	// ErrUncounted says that a PDF does not tell how many pages it has.
	ErrUncounted = errors.New("the PDF does not tell its pages")
)

// Pages returns how many pages a PDF says it has. It is an error when it has fewer objects than
// that.
func Pages(r io.ReaderAt, size int64) (int, error) {
	f := &file{r: r, size: size, left: maxRead}
	end := make([]byte, min(tail, size))
	from := size - int64(len(end))
	if n, err := f.ReadAt(end, from); n < len(end) && err != nil {
		return 0, err
	}
	const before = "startxref"
	at := bytes.LastIndex(end, []byte(before))
	if at < 0 {
		return 0, ErrCutOff
	}
	table, is := f.lexer(from + int64(at+len(before))).object().(int64)
	if !is || !f.readTables(table) {
		return 0, errors.Join(ErrUncounted, f.err)
	}
	root := f.dict(f.dict(f.trailer["Root"])["Pages"])
	count, is := f.value(root["Count"]).(int64)
	if !is || count < 0 || count > f.objects() || f.err != nil {
		return 0, errors.Join(ErrUncounted, f.err)
	}
	return int(count), nil
}

// file is a PDF that is being read. What cannot be read of it is as if it were not there.
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

// lexer reads from an offset on, which may be wrong.
func (f *file) lexer(at int64) *lexer {
	if at < 0 || at > f.size {
		at = f.size
	}
	return newLexer(f, at, min(maxObject, f.size-at))
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

// value follows references.
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

// unpack reads an object of an object stream (7.5.7), which does not hold the length of one.
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
