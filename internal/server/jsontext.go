package server

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// appendText appends a string in JSON.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendEscaped does it for those that may need escapes.
func appendEscaped(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string always encodes
		text = []byte(`""`)
	}
	return append(b, text...)
}

// jsonFault says why a body's texts are no Unicode, nothing when they are: encoding/json would replace what is not.
func jsonFault(body []byte) string {
	if !utf8.Valid(body) {
		return "it is not UTF-8"
	}
	for rest := body; ; {
		at := bytes.IndexByte(rest, '\\') // there is none outside of texts
		if at < 0 {
			return ""
		}
		rest = rest[at:]
		first, is := escapedUnit(rest)
		switch {
		case !is:
			rest = rest[min(2, len(rest)):]
			continue
		case !utf16.IsSurrogate(first):
			rest = rest[unitLen:]
			continue
		}
		second, _ := escapedUnit(rest[unitLen:])
		if utf16.DecodeRune(first, second) == utf8.RuneError {
			return "there is half of a surrogate pair"
		}
		rest = rest[2*unitLen:]
	}
}

// unitLen is how long an escape of a unit of UTF-16 is.
const unitLen = len(`\u0000`)

// escapedUnit returns the unit of UTF-16 that a text begins with, if it begins with an escaped one.
func escapedUnit(text []byte) (unit rune, is bool) {
	if len(text) < unitLen || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:unitLen]), 16, 16)
	return rune(n), err == nil
}
