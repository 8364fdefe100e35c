package mail

import (
	"bufio"
	"encoding/hex"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/archivefs/archivefs/internal/server/text"
)

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

func percentDecoded(s string) string {
	var b strings.Builder
	for s != "" {
		c := s[0]
		if code, err := hex.DecodeString(s[1:min(3, len(s))]); c == '%' && err == nil && len(code) == 1 {
			c, s = code[0], s[2:]
		}
		b.WriteByte(c)
		s = s[1:]
	}
	return b.String()
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
