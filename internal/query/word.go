package query

import (
	"strings"
	"unicode"
)

// word is a word of a query without its quotes.
type word struct {
	text string
	// bare is how many bytes come before the first quote: a key can only be there.
	bare   int
	quoted bool
}

// split splits a line into words. Empty quotes are no word.
func split(text string) ([]word, error) {
	var words []word
	var now strings.Builder
	w, inside := word{}, false
	end := func() {
		if w.text = now.String(); strings.TrimSpace(w.text) != "" {
			if !w.quoted {
				w.bare = len(w.text)
			}
			words = append(words, w)
		}
		now.Reset()
		w = word{}
	}
	for _, r := range text {
		switch {
		case r == '"':
			if !w.quoted {
				w.quoted, w.bare = true, now.Len()
			}
			inside = !inside
		case unicode.IsSpace(r) && !inside:
			end()
		default:
			now.WriteRune(r)
		}
	}
	if inside {
		return nil, errQuote
	}
	end()
	return words, nil
}

// cut splits a word into a key and a value; keyed is false, and key empty, for any other word.
func (w word) cut() (key, value string, keyed bool) {
	key, value, keyed = strings.Cut(w.text, ":")
	if !keyed || len(key) >= w.bare {
		return "", "", false
	}
	switch key = strings.ToLower(key); key {
	case "keyword", "name", "note", "stamp", "type", "after", "before", "in":
		return key, strings.TrimSpace(value), true
	}
	return "", "", false
}

// plain is the word as text to search for: a phrase keeps its quotes.
func (w word) plain() string {
	if !w.quoted {
		return w.text
	}
	return `"` + strings.Join(strings.Fields(w.text), " ") + `"`
}
