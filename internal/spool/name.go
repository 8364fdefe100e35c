package spool

import (
	"path"
	"strings"
	"unicode"
)

// sameName reports whether a document listed under one name may be the one sent under the
// other. A service can change a name a little (case, white space, the Unicode form, an
// extension of its own). To take too many documents for possible ones is safe: the name alone
// decides nothing.
func sameName(a, b string) bool {
	l := likenessOf(a)
	return l.matches(b)
}

// nameLikeness compares one name with many others, of most without an allocation.
type nameLikeness struct {
	name        string
	bones, stem string // of the name, and of the name without its extension
}

func likenessOf(name string) nameLikeness { return nameLikeness{name, bones(name), bones(stem(name))} }

// matches is sameName.
func (l *nameLikeness) matches(other string) bool {
	if other == l.name {
		return true
	}
	if differsWithin(other, l.stem) {
		return false
	}
	full, short := bones(other), bones(stem(other))
	return full == l.bones || full == l.stem || short == l.bones || short == l.stem
}

// differsWithin reports whether bones(name) does not begin with want. Whatever matches begins
// with the bones of the stem; most names differ from them early.
func differsWithin(name, want string) bool {
	last := noLetter // the letter before, which a combining mark would remove
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

// stem is name without its extension: a last dot and 1 to 10 ASCII letters or digits.
func stem(name string) string {
	ext := path.Ext(name)
	if len(ext) < 2 || len(ext) > 11 || strings.IndexFunc(ext[1:], isNoBone) >= 0 {
		return name
	}
	return strings.TrimSuffix(name, ext)
}

// bones is what such changes leave of a name: its ASCII letters, in lower case, and digits. A
// letter with a combining mark is left out, as the composed one is, which is not ASCII.
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
