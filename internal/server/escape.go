package server

import (
	"errors"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// Lists in a parameter are separated by commas. A backslash makes a comma, an equals sign
// or a backslash that follows it part of the item; before anything else it is an error.
const (
	escape    = '\\'
	separator = ','
	assign    = '='
)

var (
	errEscape   = errors.New(`a backslash must be followed by a comma, an equals sign or a backslash`)
	errNoAssign = errors.New("an entry lacks its equals sign")
	errNoKey    = errors.New("an entry has an empty key")
)

// splitList returns the items of a list without surrounding blanks, empty items and
// repetitions.
func splitList(s string) ([]string, error) {
	fields, err := split(s, separator)
	if err != nil {
		return nil, err
	}
	var items entries
	for _, field := range fields {
		if err := items.add(unescape(field)); err != nil {
			return nil, err
		}
	}
	return items.list, nil
}

// splitPairs returns the entries of "key1=value1,key2=value2". Of a key that is repeated
// the last value counts.
func splitPairs(s string) ([]archive.KeyValue, error) {
	fields, err := split(s, separator)
	if err != nil {
		return nil, err
	}
	var found metadata
	for _, field := range fields {
		if strings.TrimSpace(field) == "" {
			continue
		}
		at := index(field, assign)
		if at < 0 {
			return nil, errNoAssign
		}
		key := strings.TrimSpace(unescape(field[:at]))
		if key == "" {
			return nil, errNoKey
		}
		if err := found.set(key, unescape(field[at+1:])); err != nil {
			return nil, err
		}
	}
	return found.pairs, nil
}

// split cuts s at each unescaped sep and checks the escapes; they stay in the fields.
func split(s string, sep byte) ([]string, error) {
	var fields []string
	start := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case escape:
			i++
			if i == len(s) || s[i] != separator && s[i] != assign && s[i] != escape {
				return nil, errEscape
			}
		case sep:
			fields = append(fields, s[start:i])
			start = i + 1
		}
	}
	return append(fields, s[start:]), nil
}

// index finds the first unescaped c in a field whose escapes are right.
func index(s string, c byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case escape:
			i++
		case c:
			return i
		}
	}
	return -1
}

// unescape drops the escaping backslashes of a field whose escapes are right.
func unescape(s string) string {
	if strings.IndexByte(s, escape) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == escape {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
