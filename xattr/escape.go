package xattr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
