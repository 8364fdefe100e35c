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
	if a == b {
		return true
	}
	for _, x := range []string{bones(a), bones(stem(a))} {
		if x == bones(b) || x == bones(stem(b)) {
			return true
		}
	}
	return false
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
		case unicode.Is(unicode.Mn, r) && letter:
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

func isNoBone(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
}
