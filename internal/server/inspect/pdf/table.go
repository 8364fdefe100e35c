package pdf

const (
	lineSize    = 20
	maxSections = 1000
	maxTables   = 300 // a file has one more with each change that was added to it
)

// section is a part of the table of objects, which tells where each of count objects is.
type section struct {
	first, count int64
	place        func(i int64) place
}

// place is where an object is: at an offset, or in an object stream.
type place struct {
	at     int64
	packed bool // at is the number of the stream then
}

// nowhere is the place of what is not there.
var nowhere = place{at: -1}

// objects is how many objects the tables tell of.
func (f *file) objects() (n int64) {
	for _, s := range f.sections {
		n += s.count
	}
	return n
}

// find looks an object up; the last table that has it counts.
func (f *file) find(number int64) place {
	for _, s := range f.sections {
		if number >= s.first && number-s.first < s.count {
			return s.place(number - s.first)
		}
	}
	return nowhere
}

// readTables follows the tables from the last to the first.
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

// readLines notes where the lines of a table are (7.5.4), without reading them.
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

// readStream takes the sections of a table that is a stream (7.5.8).
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

// entry reads an entry of a stream: 1, which may be left out, and an offset; or 2 and the number of
// an object stream.
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
