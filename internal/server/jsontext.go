package server

import "encoding/json"

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
