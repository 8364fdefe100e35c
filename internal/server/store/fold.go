package store

import (
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold is what texts are compared by that differ in case, in accents or in how their letters are
// put together: Straße, STRASSE and Strasse are the same, and Müller and Muller. It is kept
// beside them, so that every engine finds the same. Control characters become spaces.
func fold(text string) string {
	text = cases.Fold().String(norm.NFC.String(strings.ToValidUTF8(text, "\uFFFD")))
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if r >= firstAccent && r <= lastAccent {
			return -1
		}
		return max(r, ' ')
	}, norm.NFD.String(text)))
}

// The accents of Latin, Greek and Cyrillic letters (Unicode, Combining Diacritical Marks).
const (
	firstAccent = '\u0300'
	lastAccent  = '\u036F'
)

// spellings are the ways to write a text that is looked for, folded: as it is, with ue for ü, and
// with ü, which folds to u, for ue.
func spellings(text string) []string {
	spellings := []string{fold(text)}
	for _, other := range []string{
		fold(strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "ae", "Ö", "oe", "Ü", "ue").Replace(norm.NFC.String(text))),
		contracted(spellings[0]),
	} {
		if len(other) >= shortest && !slices.Contains(spellings, other) {
			spellings = append(spellings, other)
		}
	}
	return spellings
}

// shortest is how many letters another spelling has at least: fewer are in too many words.
const shortest = 4

// contracted replaces ae, oe and ue, unless the e belongs to no umlaut, as in neue, Bauer and Quelle.
func contracted(folded string) string {
	var b strings.Builder
	for i := range len(folded) {
		umlaut := folded[i] == 'e' && i > 0 && strings.IndexByte("aou", folded[i-1]) >= 0
		if umlaut && (folded[i-1] != 'u' || i < 2 || strings.IndexByte("aeq", folded[i-2]) < 0) {
			continue
		}
		b.WriteByte(folded[i])
	}
	return b.String()
}

// What is said about a document is one folded text of items: the name, the keywords, the types,
// the values of the metadata, the external id, and what notes and stamps say. Each begins with a
// control character that tells its kind and ends with another.
const (
	saidName     = "\x01"
	saidKeyword  = "\x02"
	saidType     = "\x03"
	saidValue    = "\x04"
	saidExternal = "\x05"
	saidRemark   = "\x06" // the last kind
	endOfItem    = "\x1f"
)

func item(kind, text string) string { return folded(kind, fold(text)) }

// folded is an item of a text that is folded already.
func folded(kind, text string) string { return kind + text + endOfItem }

// remarks is the end of what is said about a document, where its notes and stamps are.
const remarks = "substr(said, instr(said || '" + saidRemark + "', '" + saidRemark + "'))"

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
	for _, n := range d.Notes {
		b.WriteString(item(saidRemark, n.Text))
	}
	for _, n := range d.Stamps {
		b.WriteString(item(saidRemark, n.Title) + item(saidRemark, n.Text))
	}
	return b.String()
}

// pairs is the metadata as it is searched: keys as they are, values folded.
func pairs(d Document) string {
	var b strings.Builder
	for _, pair := range d.Metadata {
		b.WriteString(folded(keyOf(pair.Key), fold(pair.Value)))
	}
	return b.String()
}

// keyOf begins the value of a key in pairs.
func keyOf(key string) string {
	return endOfItem + strings.Map(func(r rune) rune { return max(r, ' ') }, key) + saidValue
}
