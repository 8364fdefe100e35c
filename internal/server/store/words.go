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
)

const (
	// maxText is how much of a text is taken into the index, in bytes.
	maxText = 1 << 20
	// maxWord is the longest word, in bytes; what is longer was not written for people.
	maxWord = 100
	// maxDistinct bounds the different words of a text and their stems, in bytes as PostgreSQL
	// counts them, which takes 1 MiB.
	maxDistinct = 900_000
	// beside is what PostgreSQL keeps beside a word, in bytes, at most.
	beside = 8
)

// words are those of a text, folded, in order: whatever consists of letters and digits. How texts
// are divided and which words have the same stem is decided here, so that every engine finds
// the same.
func words(text string) []string {
	return strings.FieldsFunc(fold(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
}

// vector is a text as the index has it.
type vector struct {
	words []string // in order
	stems []string // of the words, each once and sorted, unless it is one of them
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
			if size += len(word) + beside; size > maxDistinct {
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
		if size += len(s) + beside; size > maxDistinct {
			break
		}
		v.stems = append(v.stems, s)
	}
	slices.Sort(v.stems)
	return v
}

// stemmer finds the stems of words, which are not told their language: those of Snowball for German
// and English.
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

// sought is a folded text that is looked for in contents: its words in this order, of which the
// last may go on when it has some letters; of one word also the stems.
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

// indexed reports whether it can be in the index of contents. That has no word that is too long, and not
// every engine looks for one.
func (s sought) indexed() bool { return len(s.words) > 0 && !slices.ContainsFunc(s.words, tooLong) }

func tooLong(word string) bool { return len(word) > maxWord }

const (
	// lastPlace is the first place of a word that PostgreSQL cannot number.
	lastPlace = 1<<14 - 1
	// mostPlaces is how many places of a word it keeps.
	mostPlaces = 255
)

// tsvector is the words as PostgreSQL reads them. What it cannot number has no place in a phrase.
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

// lexemes are the words of a tsvector, as PostgreSQL writes it, in its order.
func lexemes(tsvector string) []string {
	found := strings.Fields(tsvector)
	for i, lexeme := range found {
		found[i], _, _ = strings.Cut(strings.TrimPrefix(lexeme, "'"), "'")
	}
	return found
}

// textOf is the inverse of tsvector. It reports false when places of words are lost.
func textOf(tsvector string) (text string, whole bool) {
	var order []string // by place
	for lexeme := range strings.FieldsSeq(tsvector) {
		word, at, _ := strings.Cut(strings.TrimPrefix(lexeme, "'"), "'")
		places := strings.Split(strings.TrimPrefix(at, ":"), ",")
		if len(places) >= mostPlaces {
			return "", false
		}
		for _, text := range places {
			place, err := strconv.Atoi(text)
			if err != nil || place < 1 || place >= lastPlace-1 {
				return "", false
			}
			for len(order) < place {
				order = append(order, "")
			}
			order[place-1] = word
		}
	}
	return strings.Join(order, " "), !slices.Contains(order, "")
}
