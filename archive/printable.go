package archive

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns s with control characters, bidirectional controls and invalid
// UTF-8 replaced by Go escapes (\n, \u202e, \xff), so that a name or a service's text
// cannot move the cursor, forge a line or turn text around where it is printed.
func Printable(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || !safe(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i, w := 0, 0; i < len(s); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && w == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i]), 16))
		case safe(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}

// safe reports whether r is printed as itself: it is no control (C0, C1), no format character that
// reorders text (UAX #9: LRM, RLM, ALM, embeddings, overrides, isolates), no line or paragraph
// separator.
func safe(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return false
	case unicode.Is(unicode.Bidi_Control, r):
		return false
	case r == '\u2028' || r == '\u2029' || r == '\ufeff':
		return false
	}
	return true
}
