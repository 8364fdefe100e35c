package pdf

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// Objects are int64 (also for real numbers), name, word, ref, dict, array, and nil for anything
// that tells nothing about pages: strings, booleans and null.
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
	maxToken = 128 // bytes of a name, number or keyword that are kept
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

// skip passes white space and comments, and returns what comes then.
func (l *lexer) skip() (byte, error) {
	for comment := false; ; {
		c, err := l.ReadByte()
		comment = c == '%' || comment && c != '\n' && c != '\r'
		if err != nil || !comment && !isSpace(c) {
			return c, err
		}
	}
}

// object reads one object or keyword. A reference is two numbers and a keyword, which only
// dictionaries and arrays put together.
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

// text passes a string in parentheses.
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

// list reads objects to the end, and puts references together.
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

// dict reads a dictionary, whose beginning was read.
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
