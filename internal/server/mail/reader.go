package mail

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/server/text"
)

const (
	// window is how far the reader looks ahead, in bytes. A longer line comes in pieces.
	window = 64 << 10
	// maxHeader and maxField bound what is kept of a header and of each of its fields, in bytes.
	maxHeader, maxField = 1 << 20, 64 << 10
)

// reader reads lines, headers and bodies of an e-mail. Lines may end in LF, in CRLF, in CRCRLF, or, in
// an e-mail that begins so and behind a delimiter after one, in CR.
type reader struct {
	in      *bufio.Reader
	failed  error    // of what is read, except io.EOF
	mac     bool     // lines also end in CR alone
	mid     bool     // the line ahead is the rest of one that was longer than the window
	open    []string // boundaries of the multiparts around, the innermost last
	strange int      // lines before the first field of a header that are none
	ended   bool     // the e-mail ended in an attachment, and not behind the end of its multipart
}

func newReader(from io.Reader) *reader {
	r := &reader{}
	r.in = bufio.NewReaderSize(readerFunc(func(p []byte) (int, error) {
		n, err := from.Read(p)
		if err != nil && err != io.EOF {
			r.failed = err
		}
		return n, err
	}), window)
	if start, _ := r.in.Peek(3); string(start) == "\xef\xbb\xbf" {
		_, _ = r.in.Discard(3)
	}
	start, _ := r.in.Peek(window)
	r.mac = bytes.IndexByte(start, '\n') < 0
	return r
}

type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// line returns the line ahead with its end, or the piece of it that fits the window; it is empty at the
// end of the e-mail, and valid until the next call of any method.
func (r *reader) line() []byte {
	for {
		ahead, _ := r.in.Peek(r.in.Buffered())
		if n := r.lineEnd(ahead); n > 0 {
			return ahead[:n]
		}
		if len(ahead) == window {
			return ahead[:window-2]
		}
		if ahead, err := r.in.Peek(len(ahead) + 1); err != nil {
			return ahead
		}
	}
}

// lineEnd returns where the first line ends, 0 if it does not.
func (r *reader) lineEnd(s []byte) int {
	if !r.mac {
		n := bytes.IndexByte(s, '\n') + 1
		within := s[:n]
		if n == 0 {
			within = s
		}
		if r.mac = bytes.Contains(within, []byte("\r--")); !r.mac {
			return n
		}
	}
	at := bytes.IndexAny(s, "\r\n") + 1
	if at == 0 || s[at-1] == '\n' {
		return at
	}
	next := s[at:min(at+3, len(s))]
	switch rest := bytes.TrimLeft(next, "\r"); {
	case len(rest) == 0 && len(next) < 3: // more has to be read
		return 0
	case len(rest) > 0 && rest[0] == '\n':
		return at + len(next) - len(rest) + 1
	}
	return at
}

func (r *reader) skip(line []byte) {
	r.mid = !bytes.ContainsAny(line[max(0, len(line)-1):], "\r\n")
	_, _ = r.in.Discard(len(line))
}

// after returns the beginning of what follows a line ahead of that length.
func (r *reader) after(length int) []byte {
	ahead, _ := r.in.Peek(min(window, length+maxName+2))
	return ahead[min(length, len(ahead)):]
}

// delimiter returns which open multipart the line ahead delimits, -1 if none, and whether it ends it.
func (r *reader) delimiter(line []byte) (level int, last bool) {
	rest, is := bytes.CutPrefix(line, []byte("--"))
	level = -1
	if !is || r.mid {
		return level, false
	}
	rest = bytes.TrimRight(rest, " \t\r\n")
	for i, b := range slices.Backward(r.open) {
		switch after, is := bytes.CutPrefix(rest, []byte(b)); {
		case is && len(after) == 0:
			return i, false
		case is && level < 0 && bytes.HasPrefix(after, []byte("--")):
			level = i
		}
	}
	return level, level >= 0
}

// boundary returns the declared boundary of the multipart ahead, or that of the first line that looks
// like a delimiter if no line near has the declared one.
func (r *reader) boundary(declared string) string {
	ahead, _ := r.in.Peek(window)
	guessed := ""
	for line := range bytes.Lines(ahead) {
		ahead = ahead[len(line):]
		if level, _ := r.delimiter(line); level >= 0 {
			break
		}
		rest, is := bytes.CutPrefix(bytes.TrimRight(line, " \t\r\n"), []byte("--"))
		if is && declared != "" && string(rest) == declared {
			return declared
		}
		if is && guessed == "" && len(rest) > 0 && len(rest) <= maxName && !bytes.ContainsAny(rest, " \t") {
			if name, _, _ := fieldOf(ahead[:min(len(ahead), maxName)]); strings.HasPrefix(name, "content-") {
				guessed = string(rest)
			}
		}
	}
	if guessed != "" {
		return guessed
	}
	return declared
}

// body reads up to the next delimiter, without the line end before that, or to the end of the e-mail.
type body struct {
	*reader
	buffer, rest, end []byte // end is that of the last line
	done              bool
	broken            *bool // of an attachment in a multipart: set when the e-mail ends within a line of it
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		switch {
		case b.done && b.failed != nil:
			return 0, b.failed
		case b.done:
			return 0, io.EOF
		}
		line := b.line()
		level, _ := b.delimiter(line)
		if b.done = len(line) == 0 || level >= 0; b.done {
			if level < 0 {
				b.rest = b.end
			}
			if level < 0 && b.broken != nil && len(b.open) > 0 {
				b.ended, *b.broken = true, b.mid && b.buffer != nil
			}
			continue
		}
		b.skip(line)
		content := line
		if !b.mid {
			content = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		}
		b.buffer = append(append(b.buffer[:0], b.end...), content...)
		b.rest, b.end = b.buffer, append(b.end[:0], line[len(content):]...)
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// header is the fields of a header, in order.
type header []field

type field struct {
	name  string // in lower case
	value []byte
}

// all returns the decoded values of the fields of a name that are not blank.
func (h header) all(name string) (values []string) {
	for _, f := range h {
		if value := strings.TrimSpace(decodeWords(string(f.value))); f.name == name && value != "" {
			values = append(values, value)
		}
	}
	return values
}

// raw returns the first value of a name that is not blank, as it is written, in UTF-8.
func (h header) raw(name string) string {
	for _, f := range h {
		if f.name == name && len(f.value) > 0 {
			return text.Decode(f.value, "")
		}
	}
	return ""
}

// maxName is the longest name of a field, or guessed boundary, in bytes.
const maxName = 200

// usual matches the names of fields that make a line that of a header in a doubtful place.
var usual = regexp.MustCompile(`^(from|to|cc|bcc|subject|date|received|sender|references|importance|priority|comments|keywords|` +
	`(content|x|resent|list|arc|dkim|authentication|received|reply|return|message|in-reply|mime|delivered|disposition|thread|auto|user|errors|original)-.*)$`)

// fieldOf splits a line of a header.
func fieldOf(line []byte) (name string, value []byte, is bool) {
	before, value, is := bytes.Cut(line, []byte(":"))
	before = bytes.TrimRight(before, " \t")
	if !is || len(before) == 0 || len(before) > maxName || bytes.HasPrefix(value, []byte("//")) ||
		bytes.ContainsFunc(before, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", nil, false
	}
	return strings.ToLower(string(before)), bytes.TrimSpace(value), true
}

// header reads the header ahead, of the e-mail or of a part, and the empty line behind it. Lines between
// fields that are none continue the one before, and those before the first are ignored; loose are
// those behind the last, which may be the beginning of the body.
func (r *reader) header(top bool) (h header, loose []byte) {
	left := maxHeader
	extend := func(more []byte) {
		if len(h) > 0 && len(h[len(h)-1].value)+len(more) < maxField && left > len(more) {
			last := &h[len(h)-1]
			last.value, left = append(append(last.value, ' '), bytes.TrimSpace(more)...), left-len(more)-1
		}
	}
	for line := r.line(); len(line) > 0; line = r.line() {
		if level, _ := r.delimiter(line); level >= 0 {
			return h, loose
		}
		name, value, is := fieldOf(line)
		is = is && !r.mid && (usual.MatchString(name) || len(loose) == 0 && (top || len(h) > 0))
		switch {
		case is:
			if len(h) == 0 {
				r.strange = bytes.Count(loose, []byte("\n"))
			} else if !strings.HasPrefix(h[len(h)-1].name, "content-") {
				extend(loose)
			}
			loose = nil
			if left -= len(name) + len(value) + 64; left > 0 { // 64: what a field costs itself
				h = append(h, field{name, bytes.Clone(value[:min(len(value), maxField)])})
			}
		case !r.mid && len(bytes.TrimSpace(line)) == 0:
			length := len(line)
			blanks := len(bytes.Trim(line, "\r\n")) > 0
			if !r.goesOn(h, loose, length, top, blanks) {
				r.skip(r.line())
				return h, loose
			}
			line = r.line()
		case len(h) > 0 && len(loose) == 0 && (r.mid || line[0] == ' ' || line[0] == '\t'):
			extend(line)
		case len(loose)+len(line) > window, len(loose) == 0 && len(line) >= 24 && pure(line) && encodingOf(h) == "base64": // the empty line is missing
			return h, loose
		default:
			loose = append(loose, line...)
		}
		r.skip(line)
	}
	return h, loose
}

// goesOn reports whether a header goes on behind the empty line ahead: before the first field, or where
// the fields follow that every e-mail of today has.
func (r *reader) goesOn(h header, loose []byte, length int, top, blanks bool) bool {
	next := r.after(length)
	name, _, is := fieldOf(next)
	is = is && usual.MatchString(name)
	switch {
	case len(h) == 0 && top:
		return is || len(loose) == 0
	case blanks && len(h) > 0 && is:
		return true
	}
	return is && (strings.HasPrefix(name, "content-") || name == "mime-version") && h.raw("content-type") == ""
}

// Fields returns the fields of the e-mail that a content beginning so may be, the first of each name, in
// lower case, with its value as it is written. There are none if more than one line stands in front.
func Fields(head []byte) map[string]string {
	r := newReader(bytes.NewReader(head))
	fields := map[string]string{}
	for h, _ := r.header(true); len(h) > 0 && r.strange <= 1; h = h[1:] {
		if fields[h[0].name] == "" {
			fields[h[0].name] = string(h[0].value)
		}
	}
	return fields
}
