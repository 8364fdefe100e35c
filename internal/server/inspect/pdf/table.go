package pdf

import (
	"fmt"
	"io"
)

// section is a part of the table of objects (7.5.4, 7.5.8): either lines of the file, or the
// bytes of a stream.
type section struct {
	first, count int64
	at           int64 // of the lines
	entries      []byte
	widths       [3]int // of the fields of the stream's entries
}

const (
	lineSize    = 20
	maxSections = 1000
	maxTables   = 300 // a file has one more with each change that was added to it
)

// place is where an object is: at an offset, or in an object stream.
type place struct {
	at       int64
	inStream bool // at is the number of the stream then
	index    int64
}

// readTables follows the tables from the last to the first.
func (f *file) readTables(at int64) error {
	seen := map[int64]bool{}
	for next := []int64{at}; len(next) > 0; {
		at, next = next[0], next[1:]
		if seen[at] {
			continue
		}
		if seen[at] = true; len(seen) > maxTables {
			return fmt.Errorf("%w: too many tables", errSyntax)
		}
		trailer, err := f.readTable(at)
		if err != nil {
			return err
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
	return nil
}

// readTable reads one table and returns its trailer.
func (f *file) readTable(at int64) (dict, error) {
	l, err := f.lexer(at)
	if err != nil {
		return nil, err
	}
	switch first, err := l.object(0); {
	case err != nil:
		return nil, err
	case first == word("xref"):
		return f.readLines(at, l)
	}
	object, err := f.objectAt(at)
	if err != nil {
		return nil, err
	}
	return object.dict, f.readStream(object)
}

// readLines notes where the lines of a table are, without reading them.
func (f *file) readLines(at int64, l *lexer) (dict, error) {
	for len(f.sections) < maxSections {
		item, err := l.object(0)
		if err != nil {
			return nil, err
		}
		if item == word("trailer") {
			item, err := l.object(0)
			trailer, is := item.(dict)
			if err != nil || !is {
				return nil, errSyntax
			}
			return trailer, nil
		}
		first, is := item.(int64)
		item, err = l.object(0)
		count, also := item.(int64)
		if err != nil || !is || !also || first < 0 || count < 0 || count > f.size/lineSize+1 {
			return nil, errSyntax
		}
		if _, err := l.skip(); err != nil {
			return nil, err
		}
		l.back()
		s := section{first: first, count: count, at: at + l.at}
		f.sections = append(f.sections, s)
		at = s.at + count*lineSize
		if l, err = f.lexer(at); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: too many sections", errSyntax)
}

// readStream takes the sections of a table that is a stream.
func (f *file) readStream(object object) error {
	d := object.dict
	if d["Type"] != name("XRef") {
		return errSyntax
	}
	widths, _ := d["W"].(array)
	if len(widths) < 3 {
		return errSyntax
	}
	var s section
	entry := 0
	for i := range s.widths {
		width, is := widths[i].(int64)
		if !is || width < 0 || width > 8 {
			return errSyntax
		}
		s.widths[i] = int(width)
		entry += s.widths[i]
	}
	index, _ := d["Index"].(array)
	if index == nil {
		index = array{int64(0), d["Size"]}
	}
	data, err := f.decode(object)
	if err != nil || entry == 0 {
		return errSyntax
	}
	for i := 0; i+1 < len(index) && len(f.sections) < maxSections; i += 2 {
		first, is := index[i].(int64)
		count, also := index[i+1].(int64)
		if !is || !also || first < 0 || count < 0 {
			return errSyntax
		}
		s.first, s.count = first, min(count, int64(len(data)/entry))
		s.entries, data = data[:s.count*int64(entry)], data[s.count*int64(entry):]
		f.sections = append(f.sections, s)
	}
	return nil
}

// find looks an object up; the last table that has it counts.
func (f *file) find(number int64) (place, error) {
	for _, s := range f.sections {
		if number < s.first || number-s.first >= s.count {
			continue
		}
		if s.entries != nil {
			return s.fromStream(number - s.first)
		}
		return f.fromLine(s.at + (number-s.first)*lineSize)
	}
	return place{}, fmt.Errorf("%w: no object %d", errSyntax, number)
}

// fromLine reads a line of a table: an offset, a generation, and n for an object in use.
func (f *file) fromLine(at int64) (place, error) {
	l, err := f.lexer(at)
	if err != nil {
		return place{}, err
	}
	offset, err1 := l.object(0)
	_, err2 := l.object(0)
	kind, err3 := l.object(0)
	found, is := offset.(int64)
	if err1 != nil || err2 != nil || err3 != nil || !is || kind != word("n") {
		return place{}, errSyntax
	}
	return place{at: found}, nil
}

// fromStream reads an entry of a stream: 1 and an offset, or 2, an object stream and an index.
func (s section) fromStream(i int64) (place, error) {
	entry := s.widths[0] + s.widths[1] + s.widths[2]
	data := s.entries[i*int64(entry):]
	var fields [3]int64
	for n, width := range s.widths {
		for range width {
			fields[n], data = fields[n]<<8|int64(data[0]), data[1:]
		}
	}
	if s.widths[0] == 0 {
		fields[0] = 1
	}
	switch fields[0] {
	case 1:
		return place{at: fields[1]}, nil
	case 2:
		return place{at: fields[1], inStream: true, index: fields[2]}, nil
	}
	return place{}, errSyntax
}

// lexer reads from an offset on.
func (f *file) lexer(at int64) (*lexer, error) {
	if at < 0 || at >= f.size {
		return nil, fmt.Errorf("%w: nothing at %d", errSyntax, at)
	}
	return newLexer(io.NewSectionReader(f, at, min(maxObject, f.size-at))), nil
}
