package mail

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"github.com/archivefs/archivefs/internal/server/text"
)

// encodingOf returns the transfer encoding of a part (RFC 2045, 6): base64, quoted-printable, uuencode, or
// empty for none that is known.
func encodingOf(h header) string {
	letters := strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return unicode.ToLower(c)
		}
		return -1
	}, h.raw("content-transfer-encoding"))
	switch {
	case strings.HasPrefix(letters, "base64"), letters == "b":
		return "base64"
	case strings.HasPrefix(letters, "quotedprintable"), letters == "q":
		return "quoted-printable"
	case strings.HasSuffix(letters, "uuencode"), strings.HasPrefix(letters, "xuue"), letters == "uue":
		return "uuencode"
	}
	return ""
}

// sniffed is how much of a body tells whether it is encoded as its header says, in bytes.
const sniffed = 1 << 10

// decoded undoes the transfer encoding of a body. A text that claims to be base64 and is not stays as it is,
// and what is plainly base64 without a claim is decoded. Broken is set when an encoding ends within a group.
func decoded(p *part, content io.Reader, broken *bool) io.Reader {
	in := bufio.NewReader(content)
	head, _ := in.Peek(sniffed)
	words := p.media == "text/plain" || p.media == "text/html"
	switch {
	case p.encoding == "base64" && (!words || !wordy(head)), p.encoding == "" && secretly(head, words):
		return &base64Reader{in: in, broken: broken}
	case p.encoding == "quoted-printable":
		return &quotedReader{in: in}
	case p.encoding == "uuencode":
		if at := begin.FindSubmatchIndex(head); at != nil {
			if p.name == "" {
				p.name = decodeWords(string(head[at[2]:at[3]]))
			}
			_, _ = in.Discard(at[1])
			return &uuReader{in: in, broken: broken}
		}
	}
	return in
}

// wordy reports whether a body consists of words: in base64 there are none.
func wordy(head []byte) bool {
	others := 0
	for _, c := range bytes.TrimSpace(head) {
		if !inAlphabet(rune(c)) && c != '=' && c != '\r' && c != '\n' {
			others++
		}
	}
	return others > 2 && others*16 > len(head)
}

// secretly reports whether a body that claims no encoding is base64: lines of one length, of a known content.
func secretly(head []byte, words bool) bool {
	var all []byte
	length := 0
	cut := len(head) == sniffed
	for line := range bytes.Lines(head) {
		last := len(line) > 0 && line[len(line)-1] != '\n'
		line = bytes.TrimRight(line, "\r\n")
		if !pure(line) || length > 0 && len(line) > length || length > 0 && len(all)%length != 0 || len(line)%4 != 0 && (!last || !cut) {
			return false
		}
		length = max(length, len(line))
		all = append(all, line...)
	}
	if len(all) < 24 || length < 24 {
		return false
	}
	content, _ := io.ReadAll(newBase64(string(all)))
	if words {
		return utf8.Valid(content[:max(0, len(content)-utf8.UTFMax)]) && !bytes.ContainsFunc(content, func(c rune) bool { return unicode.IsControl(c) && !unicode.IsSpace(c) })
	}
	return !mimetype.Detect(content).Is("application/octet-stream")
}

func inAlphabet(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/'
}

// pure reports whether a line is base64 and nothing else.
func pure(line []byte) bool {
	line = bytes.TrimRight(bytes.TrimSpace(line), "=")
	return len(line) > 1 && !bytes.ContainsFunc(line, func(c rune) bool { return !inAlphabet(c) })
}

// base64Reader decodes base64. It ignores all other characters (RFC 2045, 6.8), and goes on behind a padding
// if base64 follows.
type base64Reader struct {
	in     *bufio.Reader
	buffer []byte
	rest   []byte // of the buffer
	group  []byte // up to 4 characters
	padded bool   // the last group was the last, if nothing follows
	broken *bool
	done   error
}

func newBase64(s string) *base64Reader {
	return &base64Reader{in: bufio.NewReader(strings.NewReader(s)), broken: new(bool)}
}

// Read implements io.Reader.
func (b *base64Reader) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.done != nil {
			return 0, b.done
		}
		line, err := b.in.ReadSlice('\n')
		out := b.buffer[:0]
		if whole, failed := base64.RawStdEncoding.AppendDecode(out, line); failed == nil && len(b.group) == 0 && !b.padded && len(bytes.TrimRight(line, "\r\n"))%4 == 0 {
			out = whole
		} else if !b.padded || pure(line) && len(bytes.TrimSpace(line))%4 == 0 {
			for _, c := range line {
				if inAlphabet(rune(c)) {
					b.group, b.padded = append(b.group, c), false
				}
				if len(b.group) == 4 || c == '=' {
					out = b.flush(out)
					b.padded = c == '='
				}
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			out, b.done = b.flush(out), err
			*b.broken = *b.broken && !b.padded // nothing is missing in front of a padding
		}
		b.buffer, b.rest = out, out
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// flush decodes the group, which may be incomplete.
func (b *base64Reader) flush(out []byte) []byte {
	if len(b.group) == 1 {
		*b.broken, b.group = true, b.group[:0]
	}
	out, _ = base64.RawStdEncoding.AppendDecode(out, b.group)
	b.group = b.group[:0]
	return out
}

// quotedReader decodes quoted-printable (RFC 2045, 6.7). What is no escape stays as it is.
type quotedReader struct {
	in     *bufio.Reader
	blanks int // ahead, and not at the end of a line
}

// maxBlanks is how many blanks at the end of a line are dropped.
const maxBlanks = 80

// Read implements io.Reader.
func (q *quotedReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		c, err := q.in.ReadByte()
		if err != nil {
			return n, err
		}
		switch c {
		case '=':
			ahead, _ := q.in.Peek(2)
			var decoded [1]byte
			if _, err := hex.Decode(decoded[:], ahead); err == nil && len(ahead) == 2 {
				_, _ = q.in.Discard(2)
				c = decoded[0]
				break
			}
			if blanks, end := q.ending(); end > 0 || blanks < 0 { // a soft line break
				_, _ = q.in.Discard(max(0, blanks) + end)
				continue
			}
		case ' ', '\t':
			if q.blanks--; q.blanks >= 0 {
				break
			}
			blanks, end := q.ending()
			if end > 0 || blanks < 0 {
				_, _ = q.in.Discard(max(0, blanks))
				continue
			}
			q.blanks = blanks
		}
		p[n] = c
		n++
	}
	return n, nil
}

// ending returns the number of blanks ahead and the length of the line end behind them, 0 if there is
// none; blanks are -1 if nothing is ahead at all.
func (q *quotedReader) ending() (blanks, end int) {
	if ahead, _ := q.in.Peek(1); len(ahead) == 0 {
		return -1, 0
	} else if !bytes.ContainsAny(ahead, " \t\r\n") {
		return 0, 0
	}
	ahead, _ := q.in.Peek(maxBlanks)
	rest := bytes.TrimLeft(ahead, " \t")
	blanks = len(ahead) - len(rest)
	rest = bytes.TrimLeft(rest, "\r")
	if bytes.HasPrefix(rest, []byte("\n")) {
		return blanks, len(ahead) - blanks - len(rest) + 1
	}
	return blanks, min(1, len(ahead)-blanks-len(rest)) // a CR alone
}

// begin matches the first line of a file in uuencode (POSIX, uuencode).
var begin = regexp.MustCompile(`(?m)^begin [0-7]{3,4} +(\S.*?)\r*\n`)

// uuReader decodes uuencode up to its end, or to the first line that is none.
type uuReader struct {
	in     *bufio.Reader
	rest   []byte
	done   bool
	broken *bool // set when everything ends before it
}

// Read implements io.Reader.
func (u *uuReader) Read(p []byte) (int, error) {
	for len(u.rest) == 0 {
		line := lineAhead(u.in)
		content, is := uuLine(bytes.TrimRight(line, "\r\n"))
		if u.done || !is {
			if end := bytes.TrimSpace(line); string(end) == "end" && !u.done {
				_, _ = u.in.Discard(len(line))
			} else if _, err := u.in.Peek(len(line) + 1); err != nil && !u.done {
				*u.broken = true
			}
			u.done = true
			return 0, io.EOF
		}
		u.rest = content
		_, _ = u.in.Discard(len(line))
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// lineAhead returns the next line with its end, empty if it is longer than one of uuencode can be.
func lineAhead(in *bufio.Reader) []byte {
	ahead, _ := in.Peek(maxUU)
	if n := bytes.IndexByte(ahead, '\n') + 1; n > 0 {
		return ahead[:n]
	}
	if len(ahead) == maxUU {
		return nil
	}
	return ahead
}

// maxUU is longer than the longest line of uuencode: 63 bytes in 84 characters.
const maxUU = 128

// uuLine decodes a line. Blanks at its end may be missing, and a checksum may follow.
func uuLine(line []byte) (content []byte, is bool) {
	if len(line) == 0 || line[0] < ' ' || line[0] > '`' {
		return nil, false
	}
	length := int(line[0]-' ') & 63
	groups := (length + 2) / 3 * 4
	line = line[1:]
	if len(line) < groups-2 || len(line) > groups+2 || bytes.ContainsFunc(line, func(c rune) bool { return c < ' ' || c > '`' }) {
		return nil, false
	}
	line = append(bytes.Clone(line), "  "...)[:groups]
	for i := 0; i < groups; i += 4 {
		bits := 0
		for _, c := range line[i : i+4] {
			bits = bits<<6 | int(c-' ')&63
		}
		content = append(content, byte(bits>>16), byte(bits>>8), byte(bits))
	}
	return content[:length], true
}

// maxParams is how many parameters of a field are read.
const maxParams = 200

// params splits a field with parameters (RFC 2045, 5.1) into its value, in lower case, and the decoded
// parameters. It takes quotes within quotes, values that should be in quotes, and no semicolon behind the value.
func params(s string) (value string, decoded map[string]string) {
	s = strings.TrimSpace(s)
	if at := strings.IndexAny(s, "; \t"); at >= 0 {
		value, s = s[:at], s[at+1:]
	} else {
		value, s = s, ""
	}
	if strings.Contains(value, "=") {
		value, s = "", value+";"+s
	}
	raw, last, quotes := map[string]string{}, "", true
	for range maxParams {
		var one string
		if one, s = parameter(strings.TrimLeft(s, " \t;"), &quotes); strings.HasPrefix(one, "=?") { // the name of it, too
			one = decodeWords(one)
		}
		name, content, is := strings.Cut(one, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		switch _, twice := raw[name]; {
		case is && !twice:
			raw[name], last = unquoted(content), name
		case !is && last != "" && name != "": // a semicolon in a value without quotes
			raw[last] += ";" + one
		}
	}
	decoded = map[string]string{}
	for name := range raw {
		base, _, _ := strings.Cut(name, "*")
		decoded[base] = assembled(raw, base)
	}
	return strings.ToLower(value), decoded
}

// quoted matches a parameter in quotes, which end only in front of a semicolon or at the end.
var quoted = regexp.MustCompile(`(?s)^([^=;]*=[ \t]*".*?")[ \t]*(?:;|$)`)

// parameter splits off the first parameter. Where a quote does not end none behind it does, and quotes are characters.
func parameter(s string, quotes *bool) (one, rest string) {
	one, rest, _ = strings.Cut(s, ";")
	if _, value, _ := strings.Cut(one, "="); *quotes && strings.HasPrefix(strings.TrimLeft(value, " \t"), `"`) {
		at := quoted.FindStringSubmatchIndex(s)
		if *quotes = at != nil; *quotes {
			return s[:at[3]], s[at[1]:]
		}
	}
	return one, rest
}

// unquoted removes quotes and their escapes; other backslashes are those of a path.
func unquoted(s string) string {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(strings.TrimSuffix(s[1:], `"`))
}

// assembled decodes a parameter of a name (RFC 2231, 3 and 4), and encoded words in it, which are not allowed.
func assembled(raw map[string]string, name string) string {
	whole, charset := "", ""
	if s, is := raw[name+"*"]; is {
		whole, charset = extended(s)
	} else {
		for i := range maxParams {
			key := name + "*" + strconv.Itoa(i)
			s, is := raw[key]
			if encoded, starred := raw[key+"*"]; starred {
				if s, is = percentDecoded(encoded), true; i == 0 {
					s, charset = extended(encoded)
				}
			}
			if !is {
				break
			}
			whole += s
		}
	}
	if whole == "" {
		whole = raw[name]
	}
	return strings.TrimSpace(decodeWords(text.Decode([]byte(whole), charset)))
}

// extended splits off the character set of an extended value, and decodes it.
func extended(s string) (value, charset string) {
	if parts := strings.SplitN(s, "'", 3); len(parts) == 3 {
		charset, s = parts[0], parts[2]
	}
	return percentDecoded(s), charset
}

// percent matches an escape of an extended value.
var percent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

func percentDecoded(s string) string {
	return percent.ReplaceAllStringFunc(s, func(escape string) string {
		code, _ := hex.DecodeString(escape[1:])
		return string(code)
	})
}

// word matches an encoded word (RFC 2047), also with blanks in it.
var word = regexp.MustCompile(`=\?([^?*\s]{1,40})(?:\*[^?\s]*)?\?([BbQq])\?(.*?)\?=`)

// decodeWords decodes encoded words, also where they are not allowed. Adjacent ones are one, whose
// characters may be divided between them.
func decodeWords(s string) string {
	s = text.Decode([]byte(s), "")
	if strings.Contains(s, "\x1b$") {
		s = text.Decode([]byte(s), "iso-2022-jp")
	}
	var b strings.Builder
	var bytes []byte
	charset, end := "", 0
	flush := func() {
		b.WriteString(decode(bytes, charset))
		bytes = nil
	}
	for _, at := range word.FindAllStringSubmatchIndex(s, -1) {
		gap, this := s[end:at[0]], strings.ToLower(s[at[2]:at[3]])
		if end == 0 || strings.TrimSpace(gap) != "" {
			flush()
			b.WriteString(gap)
		} else if this != charset {
			flush()
		}
		charset, end = this, at[1]
		bytes = append(bytes, unworded(s[at[4]:at[5]], s[at[6]:at[7]])...)
	}
	flush()
	b.WriteString(s[end:])
	return b.String()
}

// unworded decodes the content of an encoded word.
func unworded(kind, s string) []byte {
	var from io.Reader
	if strings.EqualFold(kind, "b") {
		from = newBase64(s)
	} else {
		from = &quotedReader{in: bufio.NewReader(strings.NewReader(strings.ReplaceAll(s, "_", "=20")))}
	}
	content, _ := io.ReadAll(from)
	return content
}

// pathLike matches paths: with a drive, from a root or a home, or through other directories.
var pathLike = regexp.MustCompile(`^([A-Za-z]:[/\\]|[/\\]|~[/\\]|file:|\.{1,2}[/\\])|[/\\]\.{1,2}([/\\]|$)`)

// maxFileName is the longest name of an attachment, in bytes: that of a file on most systems.
const maxFileName = 255

// fileName makes a name of a file of what a sender wrote; of a path it takes the last element.
func fileName(s string) string {
	if pathLike.MatchString(s) {
		s = s[strings.LastIndexAny(s, `/\`)+1:]
	}
	return cleaned(s)
}

// cleaned leaves out control characters, marks of direction, and dots and blanks at the end, and shortens a
// name before its extension. A slash is a character.
func cleaned(s string) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsControl(c):
			return ' '
		case c >= '\u202a' && c <= '\u202e', c >= '\u2066' && c <= '\u2069', c == '\u200e', c == '\u200f', c == '\u200b', c == '\ufeff':
			return -1
		}
		return c
	}, s)
	s = strings.TrimRight(strings.Join(strings.Fields(s), " "), ". ")
	if len(s) <= maxFileName {
		return s
	}
	extension := path.Ext(s)
	if len(extension) > 16 || strings.Contains(extension, " ") {
		extension = ""
	}
	s = string(text.Beginning([]byte(s[:maxFileName-len(extension)])))
	return strings.TrimRight(s, ". ") + extension
}

// decode decodes a text of a part. The character set may be one that looks like ASCII.
func decode(data []byte, charset string) string {
	charset = strings.ToLower(strings.Trim(charset, `"' `))
	if strings.Contains(charset, "utf-7") {
		data, charset = []byte(utf7.ReplaceAllStringFunc(string(data), unshifted)), ""
	}
	if charset == "" && strings.Contains(string(data), "\x1b$") {
		charset = "iso-2022-jp"
	}
	return text.Decode(data, charset)
}

// utf7 matches a sequence of UTF-7 (RFC 2152) that is no ASCII.
var utf7 = regexp.MustCompile(`\+[A-Za-z0-9+/]*-?`)

func unshifted(s string) string {
	s = strings.TrimSuffix(s[1:], "-")
	if s == "" {
		return "+"
	}
	units, _ := io.ReadAll(newBase64(s))
	return text.Decode(units[:len(units)&^1], "utf-16be")
}

// declared matches the character set that an HTML page declares.
var declared = regexp.MustCompile(`(?i)<meta[^>]{1,200}charset\s*=\s*["']?([\w.:-]+)`)

// page decodes an HTML page.
func page(data []byte, charset string) string {
	if at := declared.FindSubmatch(data[:min(len(data), sniffed)]); charset == "" && at != nil {
		charset = string(at[1])
	}
	return decode(data, charset)
}
