package store

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/german"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/archivefs/archivefs/archive"
)

// fold removes differences in case, accents and Unicode normalization, for comparing texts: Straße,
// STRASSE and Strasse become equal, and Müller and Muller. Folded texts are stored, so that every
// engine finds the same. Control characters become spaces, and invisible ones nothing.
func fold(text string) string {
	text = cases.Fold().String(norm.NFC.String(strings.ToValidUTF8(text, "\uFFFD")))
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if r >= firstAccent && r <= lastAccent || archive.Invisible(r) {
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

// spellings are the folded spellings of a text to search for: as it is, with ue for ü, and with ü,
// which folds to u, for ue.
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

// shortest is the length of the shortest alternative spelling: a shorter one occurs in too many words.
const shortest = 4

// contracted replaces ae, oe and ue by a, o and u, except if ue is no umlaut, as in neue, Bauer and Quelle.
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

// The column said has everything that is said about a document, as one folded text of items: the name,
// the keywords, the types, the values of the metadata, the external id, and the texts of notes and
// stamps. Each item begins with a control character for its kind and ends with another.
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

// folded is an item of a folded text.
func folded(kind, text string) string { return kind + text + endOfItem }

// remarks is the end of said, with the notes and stamps.
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

// pairs is the metadata for searches by key: the keys unchanged, the values folded.
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

const (
	// maxText is how much of a text is indexed, in bytes.
	maxText = 1 << 20
	// maxWord is the longest word, in bytes; longer ones were not written for people.
	maxWord = 100
	// maxDistinct bounds the distinct words of a text, and their stems, in bytes as PostgreSQL counts
	// them: a tsvector has at most 1 MiB.
	maxDistinct = 900_000
	// overhead is the largest overhead of a word in PostgreSQL, in bytes.
	overhead = 8
)

// words are the folded words of a text, in order: sequences of letters and digits. Word breaks and stems
// are determined here, so that every engine finds the same.
func words(text string) []string {
	return strings.FieldsFunc(fold(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
}

// vector is a text in the index.
type vector struct {
	words []string // in order
	stems []string // of the words, distinct and sorted, without those that are words of the text
}

func vectorOf(text string) vector {
	if len(text) > maxText {
		end := maxText
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	var v vector
	seen, size := map[string]bool{}, 0
	for _, word := range words(text) {
		if tooLong(word) {
			continue
		}
		if !seen[word] {
			if size += len(word) + overhead; size > maxDistinct {
				break
			}
			seen[word] = true
		}
		v.words = append(v.words, word)
	}
	stem := newStemmer()
	found := map[string]bool{}
	for word := range seen {
		for _, s := range stem.of(word) {
			if !seen[s] {
				found[s] = true
			}
		}
	}
	size = 0
	for s := range found {
		if size += len(s) + overhead; size > maxDistinct {
			break
		}
		v.stems = append(v.stems, s)
	}
	slices.Sort(v.stems)
	return v
}

// stemmer finds the Snowball stems of a word both in German and in English, because its language is not known.
type stemmer struct{ env *snowballstem.Env }

func newStemmer() stemmer { return stemmer{snowballstem.NewEnv("")} }

// of returns the stems of a word.
func (s stemmer) of(word string) []string {
	s.env.SetCurrent(word)
	german.Stem(s.env)
	stems := []string{s.env.Current()}
	s.env.SetCurrent(word)
	english.Stem(s.env)
	if other := s.env.Current(); other != stems[0] {
		stems = append(stems, other)
	}
	return stems
}

// sought is a folded text to be found in contents: its words, one after the other. The last one is a
// prefix if it is long enough; a single word also matches by its stems.
type sought struct {
	words  []string
	prefix bool
	stems  []string
}

func soughtFor(folded string) sought {
	s := sought{words: words(folded)}
	if len(s.words) == 0 {
		return s
	}
	last := s.words[len(s.words)-1]
	s.prefix = utf8.RuneCountInString(last) >= trigram
	if len(s.words) == 1 {
		s.stems = newStemmer().of(last)
	}
	return s
}

// indexed reports whether it can be in the index of contents. The index has no overlong words, and not
// every engine accepts one in a query.
func (s sought) indexed() bool { return len(s.words) > 0 && !slices.ContainsFunc(s.words, tooLong) }

func tooLong(word string) bool { return len(word) > maxWord }

const (
	// lastPlace is the first position that PostgreSQL cannot store.
	lastPlace = 1<<14 - 1
	// mostPlaces is how many positions of a word it stores.
	mostPlaces = 255
)

// tsvector is the words in PostgreSQL's text format. Words without a position cannot match in a phrase.
func tsvector(words []string) string {
	places := map[string][]string{}
	var order []string
	for i, word := range words {
		if _, known := places[word]; !known {
			order = append(order, word)
			places[word] = nil
		}
		if place := i + 1; place < lastPlace && len(places[word]) < mostPlaces {
			places[word] = append(places[word], strconv.Itoa(place))
		}
	}
	var b strings.Builder
	for _, word := range order {
		b.WriteString("'" + word + "'")
		if at := places[word]; len(at) > 0 {
			b.WriteString(":" + strings.Join(at, ","))
		}
		b.WriteByte(' ')
	}
	return b.String()
}
