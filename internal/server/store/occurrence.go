package store

import (
	"slices"
	"strings"
)

// Texts are what a search looks for, to be found once more in what it has found. They are for one
// goroutine.
type Texts struct {
	anywhere      []string // of All and One; every spelling, folded, as are the others
	notes, titles []string
	words         []sought // what may be in contents
	stem          stemmer
	stems         map[string][]string // of the words that were looked at
}

// Texts returns what may occur on a page. What must not occur is nowhere.
func (q *Search) Texts() *Texts {
	each := func(texts []string) (spelt []string) {
		for _, text := range texts {
			spelt = append(spelt, spellings(text)...)
		}
		return spelt
	}
	t := &Texts{
		anywhere: each(slices.Concat(q.All, q.One)), notes: each(q.Notes), titles: each(q.Stamps),
		stem: newStemmer(), stems: map[string][]string{},
	}
	for _, text := range t.anywhere {
		if in := soughtFor(text); in.indexed() {
			t.words = append(t.words, in)
		}
	}
	return t
}

// OfContents reports whether one of them may be found in contents.
func (t *Texts) OfContents() bool { return len(t.words) > 0 }

// InContent reports whether one of them occurs in a content, or a part of it, as the index would have it.
func (t *Texts) InContent(text string) bool {
	has := slices.DeleteFunc(words(text), tooLong)
	return slices.ContainsFunc(t.words, func(s sought) bool { return s.in(has, t.stemsOf) })
}

func (t *Texts) stemsOf(word string) []string {
	stems, known := t.stems[word]
	if !known {
		stems = t.stem.of(word)
		t.stems[word] = stems
	}
	return stems
}

// InRemarks reports whether one of them occurs in notes or stamps.
func (t *Texts) InRemarks(notes []Note, stamps []Stamp) bool {
	for _, n := range notes {
		if text := fold(n.Text); containsAny(text, t.anywhere) || containsAny(text, t.notes) {
			return true
		}
	}
	for _, n := range stamps {
		if title := fold(n.Title); containsAny(title, t.anywhere) || slices.Contains(t.titles, title) || containsAny(fold(n.Text), t.anywhere) {
			return true
		}
	}
	return false
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// in reports whether a text, which has these words, has what is sought.
func (s sought) in(has []string, stemsOf func(word string) []string) bool {
	before, last := s.words[:len(s.words)-1], s.words[len(s.words)-1]
	for i := 0; i+len(before) < len(has); i++ {
		word := has[i+len(before)]
		if (word == last || s.prefix && strings.HasPrefix(word, last)) && slices.Equal(has[i:i+len(before)], before) {
			return true
		}
	}
	if s.stems == nil {
		return false
	}
	return slices.ContainsFunc(has, func(word string) bool {
		return slices.Contains(s.stems, word) || slices.ContainsFunc(stemsOf(word), func(stem string) bool { return slices.Contains(s.stems, stem) })
	})
}
