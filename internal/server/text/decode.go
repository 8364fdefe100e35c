// Package text makes text of bytes: by their character set, of HTML, and laid out on pages of a
// fixed-width font. All of it takes time and memory in proportion to what it is given, whatever
// that is.
package text

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// Decode turns a text into UTF-8: by its byte order mark, as it is
// when it is UTF-8, else from the character set that it is said to have, else from Windows-1252,
// in which every byte is something.
func Decode(data []byte, charset string) string {
	said := known(charset)
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		said = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case said != nil && wide(charset):
	default:
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		if utf8.Valid(data) {
			return string(data)
		}
	}
	if said == nil || said == unicode.UTF8 {
		said = charmap.Windows1252
	}
	decoded, err := said.NewDecoder().Bytes(data)
	if err != nil { // in none of these
		decoded = data
	}
	return strings.ToValidUTF8(string(decoded), "\ufffd")
}

// known returns the encoding of that name, nil when there is none.
func known(charset string) encoding.Encoding {
	if charset == "" {
		return nil
	}
	found, err := htmlindex.Get(charset)
	if err != nil {
		return nil
	}
	return found
}

// wide reports whether a text in the character set looks like UTF-8 and is something else.
func wide(charset string) bool {
	charset = strings.ToLower(strings.TrimSpace(charset))
	return strings.HasPrefix(charset, "utf-16") || strings.HasPrefix(charset, "iso-2022")
}

// Beginning drops a rune of UTF-8 that the end of the data cuts in two. It is for the beginning of
// a text, before that is decoded.
func Beginning(data []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		if last := data[len(data)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return data[:len(data)-i]
			}
			break
		}
	}
	return data
}
