package pdf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Objects are int64 (also for real numbers), name, word, ref, dict, array, and nil for anything
// that tells nothing about pages: strings, booleans and null.
type (
	name  string
	word  string // a keyword, such as obj
	dict  map[name]any
	array []any
	ref   struct{ number int64 }
)

const (
	maxDepth = 32
	maxToken = 128 // bytes of a name, number or keyword that are kept
)

var errSyntax = errors.New("no PDF syntax")

// lexer reads objects (7.3) from a place of a file on.
type lexer struct {
	r  *bufio.Reader
	at int64 // how far r was read
}

func newLexer(r io.Reader) *lexer {
	return &lexer{r: bufio.NewReaderSize(r, 1024)}
}

func (l *lexer) next() (byte, error) {
	c, err := l.r.ReadByte()
	if err == nil {
		l.at++
	}
	return c, err
}

func (l *lexer) back() {
	if l.r.UnreadByte() == nil {
		l.at--
	}
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

// skip passes white space and comments, and returns what comes then.
func (l *lexer) skip() (byte, error) {
	for {
		c, err := l.next()
		for err == nil && c == '%' {
			for err == nil && c != '\n' && c != '\r' {
				c, err = l.next()
			}
		}
		if err != nil || !isSpace(c) {
			return c, err
		}
	}
}

// object reads one object or keyword. A reference is two numbers and a keyword, which only
// dictionaries and arrays put together.
func (l *lexer) object(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: too deep", errSyntax)
	}
	c, err := l.skip()
	if err != nil {
		return nil, err
	}
	switch c {
	case '(':
		return nil, l.text()
	case '[':
		return l.list("]", depth)
	case '<':
		if c, err = l.next(); err != nil {
			return nil, err
		}
		if c == '<' {
			return l.dict(depth)
		}
		for err == nil && c != '>' {
			c, err = l.next()
		}
		return nil, err
	case '/':
		token, err := l.token()
		return name(token), err
	case ')', ']', '>', '{', '}':
		return word(c), nil
	}
	l.back()
	token, err := l.token()
	if err != nil {
		return nil, err
	}
	if n, err := strconv.ParseFloat(token, 64); err == nil && c <= '9' {
		return int64(n), nil
	}
	switch token {
	case "true", "false", "null":
		return nil, nil
	}
	return word(token), nil
}

// token reads to the next white space or delimiter.
func (l *lexer) token() (string, error) {
	var kept []byte
	for {
		c, err := l.next()
		if errors.Is(err, io.EOF) && len(kept) > 0 {
			return string(kept), nil
		}
		if err != nil {
			return "", err
		}
		if isSpace(c) || isDelimiter(c) {
			l.back()
			return string(kept), nil
		}
		if len(kept) < maxToken {
			kept = append(kept, c)
		}
	}
}

// text passes a string in parentheses.
func (l *lexer) text() error {
	for open := 1; open > 0; {
		c, err := l.next()
		if err != nil {
			return err
		}
		switch c {
		case '\\':
			if _, err := l.next(); err != nil {
				return err
			}
		case '(':
			open++
		case ')':
			open--
		}
	}
	return nil
}

// list reads objects to the end, and puts references together.
func (l *lexer) list(end word, depth int) (array, error) {
	var items array
	for {
		item, err := l.object(depth + 1)
		if err != nil {
			return nil, err
		}
		switch item {
		case end:
			return items, nil
		case word("R"):
			n := len(items)
			if n < 2 {
				return nil, errSyntax
			}
			number, is := items[n-2].(int64)
			if !is {
				return nil, errSyntax
			}
			items = append(items[:n-2], ref{number})
			continue
		}
		if _, is := item.(word); is {
			return nil, errSyntax
		}
		items = append(items, item)
	}
}

// dict reads a dictionary, whose beginning was read.
func (l *lexer) dict(depth int) (dict, error) {
	items, err := l.list(">", depth)
	if err != nil {
		return nil, err
	}
	if c, err := l.next(); err != nil || c != '>' || len(items)%2 != 0 {
		return nil, errSyntax
	}
	d := make(dict, len(items)/2)
	for i := 0; i < len(items); i += 2 {
		key, is := items[i].(name)
		if !is {
			return nil, errSyntax
		}
		d[key] = items[i+1]
	}
	return d, nil
}
