package office

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	coded "github.com/archivefs/archivefs/internal/server/text"
)

const (
	maxRTF    = 64 << 20 // bytes that are read; pictures take twice their size
	maxNested = 10_000   // groups in one another
	maxFonts  = 10_000
)

// RTF returns the text of a document in Rich Text Format (RTF 1.9.1), with what is hidden: a line for each
// paragraph, the cells of a row separated by tabs, and headers, footers, notes, comments and the title at the
// end. A text longer than MaxText is cut off, and that of a damaged document ends where the damage is. The
// error is ErrUnreadable if it is no RTF, or a damaged one without a text.
func RTF(r io.Reader) (string, error) {
	p := &rtf{in: bufio.NewReader(io.LimitReader(r, maxRTF)), base: charmap.Windows1252, group: group{instead: 1}}
	p.fonts = map[int]encoding.Encoding{}
	head, err := p.in.Peek(1024)
	begin := bytes.TrimLeft(head, "\xef\xbb\xbf\r\n\t ")
	if err == nil || errors.Is(err, io.EOF) {
		if !bytes.HasPrefix(begin, []byte(`{\rtf`)) {
			return "", fmt.Errorf("%w: it is no RTF", ErrUnreadable)
		}
		_, err = p.in.Discard(len(head) - len(begin))
	}
	for err == nil && p.body.Len()+p.aside.Len()+len(p.raw) < MaxText {
		err = p.next()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read RTF: %w", err)
	}
	p.flush()
	behind, _ := p.in.Peek(1024)
	broken := len(p.outer) > 0 || len(bytes.Trim(behind, "\x00\r\n\t }")) > 0
	p.group = group{}
	p.line()
	words := p.body.String() + p.aside.String()
	if broken && strings.TrimSpace(words) == "" {
		return "", fmt.Errorf("%w: it is damaged, and no text is left", ErrUnreadable)
	}
	return strings.ToValidUTF8(words[:min(len(words), MaxText)], ""), nil
}

// rtf is a document in RTF that is being read.
type rtf struct {
	in          *bufio.Reader
	body, aside strings.Builder
	raw         []byte                    // of the text, in the code page of the font
	fonts       map[int]encoding.Encoding // their code pages
	base        encoding.Encoding         // the code page of other fonts
	standard    int                       // the font if none is named
	high        rune                      // the first half of a surrogate pair
	skip        int                       // characters ahead that stand for one in Unicode
	group       group
	outer       []group // around it
}

// group is the state that ends with a group.
type group struct {
	hidden   bool // its text is not read
	aside    bool // its text is not part of the text around it
	optional bool // it begins with \*: who does not know it should ignore it
	font     int
	instead  int // how many characters stand for one in Unicode
}

// next reads a character, a control word, or one end of a group. The error is io.EOF behind the last group.
func (p *rtf) next() error {
	c, err := p.in.ReadByte()
	switch last := len(p.outer) - 1; {
	case err != nil:
		return err
	case c == '{':
		p.flush()
		p.outer = append(p.outer, p.group)
	case c == '}':
		p.flush()
		if p.group.aside && !p.outer[last].aside {
			p.line()
		}
		p.group, p.outer = p.outer[last], p.outer[:last]
	case c == '\\':
		p.control()
	default:
		p.char(c)
	}
	if len(p.outer) == 0 || len(p.outer) > maxNested {
		return io.EOF
	}
	return nil
}

// control reads what follows a backslash: a control word with its number and a blank, or a symbol.
func (p *rtf) control() {
	if name := p.run(32, isLetter); name != "" {
		n, err := strconv.ParseInt(p.run(1, isHyphen)+p.run(32, isDigit), 10, 32)
		p.run(1, isBlank)
		p.word(name, int(n), err == nil)
		return
	}
	switch c, _ := p.in.ReadByte(); c {
	case '\'':
		if code, err := strconv.ParseUint(p.run(2, isHex), 16, 8); err == nil {
			p.char(byte(code))
		}
	case '*':
		p.group.optional = true
	case '\r', '\n':
		p.line()
	case '~':
		p.put('\u00a0')
	case '_':
		p.put('-')
	case '\\', '{', '}', '\t':
		p.char(c)
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isHyphen(c byte) bool { return c == '-' }
func isBlank(c byte) bool  { return c == ' ' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// run reads the bytes ahead that are such, up to a number of them.
func (p *rtf) run(most int, such func(byte) bool) string {
	ahead, _ := p.in.Peek(most)
	n := 0
	for n < len(ahead) && such(ahead[n]) {
		n++
	}
	s := string(ahead[:n])
	_, _ = p.in.Discard(n) // they are there
	return s
}

// word does what a control word says, which may have a number.
func (p *rtf) word(name string, n int, numbered bool) {
	optional := p.group.optional
	p.group.optional = false
	switch name {
	case "annotation", "footer", "footerf", "footerl", "footerr", "footnote", "header", "headerf", "headerl", "headerr",
		"keywords", "subject", "title":
		p.group.aside, p.group.hidden = true, false
	case "colortbl", "datafield", "filetbl", "fldinst", "fonttbl", "info", "nonesttables", "nonshppict", "objdata", "pict",
		"shprslt", "sp", "stylesheet", "tc", "upr", "xe":
		p.group.hidden = true
	case "do", "moMath", "moMathPara", "nesttableprops", "shpinst": // who knows them reads their text
	case "ud": // the text of an upr in Unicode
		p.group.hidden = false
	case "column", "line", "nestrow", "page", "par", "row", "sect":
		p.line()
	case "mac":
		p.base = encodingOf(10000)
	case "plain":
		p.set("f", p.standard)
	default:
		if p.group.hidden = p.group.hidden || optional; numbered {
			p.set(name, n)
		} else if c := marks[name]; c != 0 {
			p.put(c)
		}
	}
}

// marks are the control words for characters.
var marks = map[string]rune{
	"bullet": '•', "cell": '\t', "emdash": '—', "emspace": ' ', "endash": '–', "enspace": ' ', "ldblquote": '“',
	"lquote": '‘', "nestcell": '\t', "qmspace": ' ', "rdblquote": '”', "rquote": '’', "tab": '\t',
}

// set does what a control word with a number says.
func (p *rtf) set(name string, n int) {
	switch name {
	case "ansicpg":
		p.base = encodingOf(n)
	case "bin":
		_, _ = p.in.Discard(max(0, n)) // the next read fails, too
	case "deff":
		p.standard, p.group.font = n, n
	case "f":
		p.flush()
		p.group.font = n
	case "fcharset":
		if page := charsets[n]; page != 0 && len(p.fonts) < maxFonts {
			p.fonts[p.group.font] = encodingOf(page)
		}
	case "u":
		p.unicode(rune(n)) //nolint:gosec // of 32 bits
	case "uc":
		p.group.instead = max(0, n)
	}
}

// charsets are the code pages of the character sets of fonts.
var charsets = map[int]int{
	0: 1252, 77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256,
	186: 1257, 204: 1251, 222: 874, 238: 1250, 254: 437, 255: 850,
}

// codePages are the names of those that are not named by their numbers.
var codePages = map[int]string{
	874: "windows-874", 932: "shift_jis", 949: "euc-kr", 950: "big5", 10000: "macintosh", 20866: "koi8-r",
	28592: "iso-8859-2", 50220: "iso-2022-jp", 54936: "gb18030", 65001: "utf-8",
}

// encodingOf is that of a code page; of an unknown one it is that of Western Europe.
func encodingOf(page int) encoding.Encoding {
	if found := coded.Encoding(cmp.Or(codePages[page], "cp"+strconv.Itoa(page))); found != nil {
		return found
	}
	return charmap.Windows1252
}

// unicode is a character, or half of one, that others behind it stand for.
func (p *rtf) unicode(c rune) {
	p.skip = 0
	if c < 0 {
		c += 1 << 16 // the number has 16 bits
	}
	switch {
	case !utf16.IsSurrogate(c):
		p.put(c)
	case c < 0xdc00:
		p.high = c
	default:
		p.put(utf16.DecodeRune(p.high, c))
		p.high = 0
	}
	p.skip = p.group.instead
}

// char is a byte of the text.
func (p *rtf) char(c byte) {
	switch {
	case c < ' ' && c != '\t':
	case p.skip > 0:
		p.skip--
	case !p.group.hidden:
		p.raw = append(p.raw, c)
	}
}

// put writes a character.
func (p *rtf) put(c rune) {
	if p.skip > 0 {
		p.skip--
	} else if !p.group.hidden {
		p.flush()
		_, _ = p.out().WriteRune(c)
	}
}

// line ends a line, unless it is empty.
func (p *rtf) line() {
	p.flush()
	if out := p.out(); !p.group.hidden && out.Len() > 0 && !strings.HasSuffix(out.String(), "\n") {
		out.WriteByte('\n')
	}
}

func (p *rtf) out() *strings.Builder {
	if p.group.aside {
		return &p.aside
	}
	return &p.body
}

// flush writes the bytes of the text so far. Nothing behind them stands for a character before them.
func (p *rtf) flush() {
	p.skip = 0
	if len(p.raw) > 0 {
		words, _ := cmp.Or(p.fonts[p.group.font], p.base).NewDecoder().Bytes(p.raw)
		_, _ = p.out().Write(words)
		p.raw = p.raw[:0]
	}
}
