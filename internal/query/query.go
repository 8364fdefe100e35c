// Package query reads what a person looks for, written in one line.
//
//	Rechnung "Frau Muster" after:2024-01-01 in:"Muster GmbH" in:Rechnungen
//
// Words are separated by blanks, and all of them must be in a document; a phrase is in
// double quotes. A word that begins with one of the keys below, in any case, says something
// else; its value may be in double quotes, too. Any other word with a colon is a word.
//
//	keyword:WORDS   the document has this keyword
//	name:WORDS      the words occur in its name
//	note:WORDS      the words occur in its notes
//	stamp:WORDS     it has this stamp
//	type:WORDS      it is of this document type
//	after:DATE      it was created on that day or later
//	before:DATE     it was created before that day
//	in:NAME         it lies in the folder of that name, or below it; a second one names a
//	                folder in the first
//
// A DATE is a day (2024-01-31), or stands for its first one (2024-01, 2024). What can be
// said only once is an error when it is said again.
package query

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
)

// Query is a parsed query.
type Query struct {
	// Search is the search without its folder.
	archive.Search
	// In are the names of folders, each one inside the one before; the first is anywhere.
	In []string
}

var (
	errText  = errors.New("a query is written in UTF-8")
	errEmpty = errors.New("a query has at least one word")

	// ErrOpen says that a quote does not end.
	ErrOpen = errors.New(`a query has as many double quotes that open as that close`)
)

// Parse reads a query. The error is one sentence that quotes the wrong word.
func Parse(text string) (Query, error) {
	var q Query
	if !utf8.ValidString(text) {
		return Query{}, errText
	}
	words, err := split(text)
	if err != nil {
		return Query{}, err
	}
	for _, w := range words {
		if err := q.add(w); err != nil {
			return Query{}, err
		}
	}
	if len(words) == 0 {
		return Query{}, errEmpty
	}
	return q, nil
}

// add adds a word.
func (q *Query) add(w word) error {
	key, value, keyed := w.cut()
	if keyed && value == "" {
		return fmt.Errorf("%s: takes a value, without a blank before it", key)
	}
	switch key {
	case "keyword":
		q.Keywords = append(q.Keywords, value)
	case "name":
		q.Name = append(q.Name, strings.Fields(value)...)
	case "note":
		q.Notes = append(q.Notes, strings.Fields(value)...)
	case "stamp":
		q.Stamps = append(q.Stamps, value)
	case "in":
		q.In = append(q.In, value)
	case "type":
		if q.Type != "" {
			return errTwice(key)
		}
		q.Type = value
	case "after":
		return q.day(key, value, &q.From, 0)
	case "before":
		return q.day(key, value, &q.To, -1)
	default:
		q.Text = append(q.Text, w.plain())
	}
	return nil
}

func errTwice(key string) error { return fmt.Errorf("%s: can be given once", key) }

// day sets a day: the one in value, plus so many days.
func (q *Query) day(key, value string, to *time.Time, days int) error {
	if !to.IsZero() {
		return errTwice(key)
	}
	for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
		if t, err := time.Parse(layout, value); err == nil && t.Year() > 1 {
			*to = t.AddDate(0, 0, days)
			return nil
		}
	}
	return fmt.Errorf("%s: takes a date such as 2024-01-31, 2024-01 or 2024, not %q", key, value)
}

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
		if w.text = now.String(); visible(w.text) != "" {
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
		return nil, ErrOpen
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
	switch key = strings.ToLower(visible(key)); key {
	case "in": // the name of a folder as it is
		return key, strings.TrimSpace(value), true
	case "keyword", "name", "note", "stamp", "type", "after", "before":
		return key, visible(value), true
	}
	return "", "", false
}

// plain is the word as text to search for: a phrase keeps its quotes.
func (w word) plain() string {
	if !w.quoted {
		return visible(w.text)
	}
	return `"` + strings.Join(strings.Fields(visible(w.text)), " ") + `"`
}

// visible is a text as people see it, who copy invisible characters with it.
func visible(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if archive.Invisible(r) {
			return -1
		}
		return r
	}, text))
}
