package xattr

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
)

// MaxValue is the longest value in bytes (XATTR_SIZE_MAX, linux/limits.h).
const MaxValue = 64 << 10

// Sized returns v, or ErrTooBig if it is longer than MaxValue.
func Sized(v []byte) ([]byte, error) {
	if len(v) > MaxValue {
		return nil, fmt.Errorf("%d bytes: %w", len(v), ErrTooBig)
	}
	return v, nil
}

// ParseText returns the text of v: UTF-8 without NUL, of at most MaxValue bytes. It ignores one
// newline at the end, and the NUL of a C string.
func ParseText(v []byte) (string, error) {
	if _, err := Sized(v); err != nil {
		return "", err
	}
	v = bytes.TrimSuffix(bytes.TrimSuffix(v, []byte{0}), []byte("\n"))
	switch {
	case bytes.IndexByte(v, 0) >= 0:
		return "", fmt.Errorf("NUL in a text: %w", ErrValue)
	case !utf8.Valid(v):
		return "", fmt.Errorf("not UTF-8: %w", ErrValue)
	}
	return string(v), nil
}

// ParseBool returns the value of v, which is true or false. ParseText describes the text.
func ParseBool(v []byte) (bool, error) {
	text, err := ParseText(v)
	if err != nil {
		return false, err
	}
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("neither true nor false: %w", ErrValue)
}

// parseFlag is ParseBool; nil means unset.
func parseFlag(v []byte) (archive.Flag, error) {
	if v == nil {
		return archive.FlagUnknown, nil
	}
	b, err := ParseBool(v)
	return archive.FlagOf(b), err
}

// FormatTime writes t in RFC 3339, to the second, in t's zone.
func FormatTime(t time.Time) []byte {
	return t.AppendFormat(nil, time.RFC3339)
}

// escape writes the percent sign, control characters (NUL included) and invalid UTF-8 as %XX, as
// URIs do (RFC 3986, section 2.1). Other characters stay unchanged.
func escape(key string) string {
	if plain(key) {
		return key
	}
	var b strings.Builder
	for i, w := 0, 0; i < len(key); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(key[i:])
		if special(r, w) {
			for _, c := range []byte(key[i : i+w]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
			continue
		}
		b.WriteString(key[i : i+w])
	}
	return b.String()
}

// plain reports whether key needs no escaping.
func plain(key string) bool {
	for i, w := 0, 0; i < len(key); i += w {
		var r rune
		if r, w = utf8.DecodeRuneInString(key[i:]); special(r, w) {
			return false
		}
	}
	return true
}

// special reports whether the rune r, decoded from w bytes, must be escaped.
func special(r rune, w int) bool {
	return r == '%' || unicode.IsControl(r) || r == utf8.RuneError && w == 1
}

// unescape turns every %XX into its byte. A percent sign without two hexadecimal digits stays
// unchanged, because people type such names.
func unescape(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) {
			if c, err := strconv.ParseUint(name[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// ParseKeywords returns the keywords of a comma-separated list. Inside a keyword `\,` is a comma
// and `\\` a backslash; any other backslash is itself. White space around keywords is trimmed, and
// empty keywords are ignored. Document types are written in the same way.
func ParseKeywords(v []byte) ([]string, error) {
	text, err := ParseText(v)
	if err != nil {
		return nil, err
	}
	var keywords []string
	for rest, more := text, true; more; {
		var word string
		if word, rest, more, err = cutKeyword(rest); err != nil {
			return nil, err
		}
		if word != "" {
			keywords = append(keywords, word)
		}
	}
	return keywords, nil
}

// cutKeyword returns the first keyword of list, the text after its comma, and whether there was a
// comma.
func cutKeyword(list string) (word, rest string, more bool, err error) {
	var b strings.Builder
	for i := 0; i < len(list); i++ {
		switch c := list[i]; c {
		case ',':
			return strings.TrimSpace(b.String()), list[i+1:], true, nil
		case '\\':
			i++
			if i == len(list) || list[i] != ',' && list[i] != '\\' {
				return "", "", false, fmt.Errorf(`backslash before neither comma nor backslash: %w`, ErrValue)
			}
			b.WriteByte(list[i])
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(b.String()), "", false, nil
}

// FormatKeywords is the inverse of ParseKeywords. It leaves out keywords of white space only.
func FormatKeywords(keywords []string) []byte {
	escaper := strings.NewReplacer(`\`, `\\`, `,`, `\,`)
	words := make([]string, 0, len(keywords))
	for _, k := range keywords {
		if k = strings.TrimSpace(k); k != "" {
			words = append(words, escaper.Replace(k))
		}
	}
	return []byte(strings.Join(words, ","))
}
