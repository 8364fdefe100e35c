package xattr

import (
	"fmt"
	"strings"
)

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
