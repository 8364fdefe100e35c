package store

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/archivefs/archivefs/archive"
)

// fold is what texts are compared by that differ in case or in how their letters are put
// together. It is kept beside them, so that every engine finds the same. Control characters
// become spaces.
func fold(text string) string {
	text = cases.Fold().String(norm.NFC.String(strings.ToValidUTF8(text, "\uFFFD")))
	return strings.Map(func(r rune) rune {
		return max(r, ' ')
	}, text)
}

// What is said about a document is one folded text of items: the name, the keywords, the types,
// the values of the metadata and the external id. Each begins with a control character that
// tells its kind and ends with another.
const (
	saidName     = "\x01"
	saidKeyword  = "\x02"
	saidType     = "\x03"
	saidValue    = "\x04"
	saidExternal = "\x05"
	endOfItem    = "\x1f"
)

func item(kind, text string) string { return kind + fold(text) + endOfItem }

func said(d Document) string {
	var b strings.Builder
	b.WriteString(item(saidName, d.Name))
	for _, keyword := range d.Keywords {
		b.WriteString(item(saidKeyword, keyword))
	}
	for _, kind := range d.Types {
		b.WriteString(item(saidType, kind))
	}
	for _, pair := range d.Metadata {
		b.WriteString(item(saidValue, pair.Value))
	}
	if d.ExternalID != "" {
		b.WriteString(item(saidExternal, d.ExternalID))
	}
	return b.String()
}

// pairs is the metadata as it is searched: keys as they are, values folded.
func pairs(d Document) string {
	var b strings.Builder
	for _, pair := range d.Metadata {
		b.WriteString(keyAndValue(pair))
	}
	return b.String()
}

func keyAndValue(pair archive.KeyValue) string {
	return endOfItem + strings.Map(func(r rune) rune { return max(r, ' ') }, pair.Key) + item(saidValue, pair.Value)
}
