package spool

import (
	"path"
	"strings"
	"unicode"
)

// sameName reports whether a document listed under one name may be the one sent under the
// other. A service can change a name a little (case, white space, the Unicode form, an
// extension of its own), and taking too many documents for possible ones is safe: who of
// them it is, is not decided by the name.
func sameName(a, b string) bool {
	l := likenessOf(a)
	return l.matches(b)
}

// nameLikeness compares one name with many others, without an allocation for each.
type nameLikeness struct {
	name  string
	bones [2]string // of the name, and of the name without its extension
}

func likenessOf(name string) nameLikeness {
	return nameLikeness{name, [2]string{bones(name), bones(stem(name))}}
}

// matches is sameName.
func (l *nameLikeness) matches(other string) bool {
	if other == l.name {
		return true
	}
	if differsWithin(other, l.bones[1]) {
		return false
	}
	short := stem(other)
	for _, want := range l.bones {
		if hasBones(other, want) || hasBones(short, want) {
			return true
		}
	}
	return false
}

// differsWithin reports whether bones(name) does not begin with want. Most names differ so, and
// early: with these bones, and those of the name without its extension, which want is here,
// begins whatever matches.
func differsWithin(name, want string) bool {
	last := noLetter // the letter before, which a combining mark would take along
	for _, r := range name {
		switch {
		case last != noLetter && isMark(r):
			last = noLetter
			continue
		case last != noLetter && want == "":
			return false
		case last != noLetter && rune(want[0]) != last:
			return true
		case last != noLetter:
			want = want[1:]
		}
		if last = noLetter; !isNoBone(r) {
			last = unicode.ToLower(r)
		}
	}
	return want != "" && (len(want) > 1 || rune(want[0]) != last)
}

// hasBones reports whether bones(name) is want. Most names differ from it early, where it ends.
func hasBones(name, want string) bool {
	last := noLetter // as there
	for _, r := range name {
		switch {
		case last != noLetter && isMark(r):
			last = noLetter
			continue
		case last != noLetter:
			if want == "" || rune(want[0]) != last {
				return false
			}
			want = want[1:]
		}
		if last = noLetter; !isNoBone(r) {
			last = unicode.ToLower(r)
		}
	}
	if last == noLetter {
		return want == ""
	}
	return len(want) == 1 && rune(want[0]) == last
}

// stem is name without its extension: a last dot and 1 to 10 ASCII letters or digits.
func stem(name string) string {
	ext := path.Ext(name)
	if len(ext) < 2 || len(ext) > 11 || strings.IndexFunc(ext[1:], isNoBone) >= 0 {
		return name
	}
	return strings.TrimSuffix(name, ext)
}

// bones is what such changes leave of a name: its ASCII letters, in lower case, and digits.
// A letter with a combining mark after it goes with the mark, as the composed letter goes
// for not being ASCII.
func bones(name string) string {
	left := make([]rune, 0, len(name))
	letter := false // the last of left is the character just before
	for _, r := range name {
		switch {
		case letter && isMark(r):
			left = left[:len(left)-1]
			letter = false
		case isNoBone(r):
			letter = false
		default:
			left = append(left, unicode.ToLower(r))
			letter = true
		}
	}
	return string(left)
}

const noLetter rune = -1

// isMark reports whether r is a combining mark. The first is U+0300.
func isMark(r rune) bool { return r >= 0x300 && unicode.Is(unicode.Mn, r) }

func isNoBone(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
}
