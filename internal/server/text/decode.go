// Package text decodes texts, extracts the text of HTML, and lays texts out on pages in a fixed-width
// font. Time and memory are proportional to the input, even if it is malicious.
package text

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
)

// Decode turns a text into UTF-8: according to its byte order mark, unchanged if it is valid UTF-8,
// else from charset, else from Windows-1252, in which nearly every byte is valid; of a text that is
// UTF-8 for the most part only what is not.
func Decode(data []byte, charset string) string {
	said := Encoding(charset)
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
		if mended, mostly := mend(data); mostly {
			return mended
		}
		said = charmap.Windows1252
	}
	decoded, err := said.NewDecoder().Bytes(data)
	if err != nil { // undecodable
		decoded = data
	}
	return strings.ToValidUTF8(string(decoded), "\ufffd")
}

// Encoding returns the encoding of a name, nil if there is none.
func Encoding(charset string) encoding.Encoding {
	if charset == "" {
		return nil
	}
	found, err := htmlindex.Get(charset)
	if err != nil || found == encoding.Replacement {
		found, _ = ianaindex.MIME.Encoding(charset)
	}
	return found
}

// mend decodes what is not UTF-8 in a text from Windows-1252, and reports whether most of its letters
// that are not ASCII are UTF-8.
func mend(data []byte) (text string, mostly bool) {
	var b strings.Builder
	valid, wrong := 0, 0
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			r = charmap.Windows1252.DecodeByte(data[0])
			wrong++
		case size > 1:
			valid++
		}
		b.WriteRune(r)
		data = data[size:]
	}
	return b.String(), valid > wrong
}

// wide reports whether a text in the character set may look like valid UTF-8.
func wide(charset string) bool {
	charset = strings.ToLower(strings.TrimSpace(charset))
	return strings.HasPrefix(charset, "utf-16") || strings.HasPrefix(charset, "iso-2022") || strings.HasPrefix(charset, "hz-")
}

// Beginning drops an incomplete UTF-8 rune at the end of data. It is for the beginning of a text, before it is decoded.
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
