// Package params reads the parameters of a query and the fields of a form.
package params

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/limits"
	"github.com/archivefs/archivefs/internal/server/refusal"
)

// Time is the format of dates in lists and parameters. They have no time zone: it is the server's.
const Time = "2006-01-02T15:04:05"

// Params reads parameters or form fields and collects their errors, so that one answer names every
// invalid field. An empty value counts as absent, and only a list may be given more than once.
type Params struct {
	Values url.Values
	Broken error // of the query or form as a whole; the values must not be used
	wrong  refusal.Fields
}

// Err returns what was wrong with the values read so far.
func (p *Params) Err() error {
	if p.Broken != nil || len(p.wrong) == 0 {
		return p.Broken
	}
	return p.wrong
}

// Refuse notes why a value is invalid.
func (p *Params) Refuse(name, reason string) {
	p.wrong = append(p.wrong, refusal.Field{Name: name, Err: refusal.New(archive.KindInvalid, "%s", reason)})
}

// check notes the error of a value, if any; an error without a kind is KindInvalid.
func (p *Params) check(name string, err error) {
	switch {
	case err == nil:
	case archive.KindOf(err) == archive.KindOther:
		p.Refuse(name, err.Error())
	default:
		p.wrong = append(p.wrong, refusal.Field{Name: name, Err: err})
	}
}

// one returns a value that may be given only once.
func (p *Params) one(name string) string {
	values := p.Values[name]
	if len(values) == 0 {
		return ""
	}
	if len(values) > 1 && !slices.ContainsFunc(p.wrong, func(e refusal.Field) bool { return e.Name == name }) {
		p.Refuse(name, "given more than once")
	}
	return values[0]
}

// FolderName returns the name of a folder, which is required.
func (p *Params) FolderName(field string) string {
	name := p.one(field)
	if wrong := limits.FolderName(name); wrong != "" {
		p.Refuse(field, wrong)
	}
	return name
}

// DocumentName returns the name of a document, fallback when absent.
func (p *Params) DocumentName(field, fallback string) string {
	name := p.one(field)
	if name == "" {
		name = fallback
	}
	if wrong := limits.DocumentName(name); wrong != "" {
		p.Refuse(field, wrong)
	}
	return name
}

// Has reports whether a value is given.
func (p *Params) Has(name string) bool { return p.one(name) != "" }

// Text returns a string, empty when absent.
func (p *Params) Text(name string) string {
	value := p.one(name)
	if wrong := limits.Text(value); wrong != "" {
		p.Refuse(name, wrong)
		return ""
	}
	return value
}

// Entry returns a string to be stored with a document, empty when absent.
func (p *Params) Entry(name string) string {
	value := p.Text(name)
	p.check(name, limits.CheckText("it", value, limits.MaxEntry))
	return value
}

// ID returns an optional id, 0 when absent.
func (p *Params) ID(name string) archive.ID {
	if !p.Has(name) {
		return 0
	}
	id, err := strconv.ParseInt(p.one(name), 10, 64)
	if err != nil {
		p.Refuse(name, "not an integer of 64 bits")
	}
	return archive.ID(id)
}

// RequiredID returns a required id.
func (p *Params) RequiredID(name string) archive.ID {
	if !p.Has(name) {
		p.Refuse(name, "required")
		return 0
	}
	return p.ID(name)
}

// Number returns an optional integer from least to most, fallback when absent.
func (p *Params) Number(name string, fallback, least, most int) int {
	if !p.Has(name) {
		return fallback
	}
	n, err := strconv.Atoi(p.one(name))
	if err != nil || n < least || n > most {
		p.Refuse(name, "not an integer from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
		return fallback
	}
	return n
}

// Flag returns an optional boolean (true, false, 1 or 0), false when absent.
func (p *Params) Flag(name string) bool {
	if !p.Has(name) {
		return false
	}
	switch strings.ToLower(p.one(name)) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	p.Refuse(name, "neither true nor false, nor 1 or 0")
	return false
}

// RequiredFlag returns a required boolean.
func (p *Params) RequiredFlag(name string) bool {
	if !p.Has(name) {
		p.Refuse(name, "required")
	}
	return p.Flag(name)
}

// List returns the items of a comma-separated list. A repeated parameter continues the list.
func (p *Params) List(name string) []string {
	items, err := splitList(p.joined(name))
	p.check(name, err)
	return items
}

// Pairs returns the entries of a list of assignments, and those given as parameters of their own, name[key]=value.
func (p *Params) Pairs(name string) []archive.KeyValue {
	pairs, err := splitPairs(p.joined(name))
	p.check(name, err)
	found := limits.Metadata{Pairs: pairs}
	for _, field := range slices.Sorted(maps.Keys(p.Values)) {
		key, begins := strings.CutPrefix(field, name+"[")
		key, ends := strings.CutSuffix(key, "]")
		if begins && ends {
			p.check(field, found.Set(key, p.Text(field)))
		}
	}
	return found.Pairs
}

func (p *Params) joined(name string) string {
	return strings.Join(p.texts(name), string(separator))
}

// texts returns all values of a name.
func (p *Params) texts(name string) []string {
	for _, value := range p.Values[name] {
		if wrong := limits.Text(value); wrong != "" {
			p.Refuse(name, wrong)
			return nil
		}
	}
	return p.Values[name]
}

// After returns the first second after a date (the whole day), or after a date with time; zero when absent.
func (p *Params) After(name string, location *time.Location) time.Time {
	if !p.Has(name) {
		return time.Time{}
	}
	value := p.one(name)
	if day, err := time.ParseInLocation(time.DateOnly, value, location); err == nil {
		return day.AddDate(0, 0, 1)
	}
	for _, layout := range []string{Time, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, value, location); err == nil {
			return t.Truncate(time.Second).Add(time.Second)
		}
	}
	p.Refuse(name, "neither a date (2023-11-22) nor a date with time (2023-11-22T14:14:29)")
	return time.Time{}
}

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

// splitList returns the items of a list without surrounding blanks, empty items and repetitions.
func splitList(s string) ([]string, error) {
	fields, err := split(s, separator)
	if err != nil {
		return nil, err
	}
	var items limits.Entries
	for _, field := range fields {
		if err := items.Add(unescape(field)); err != nil {
			return nil, err
		}
	}
	return items.List, nil
}

// splitPairs returns the entries of "key1=value1,key2=value2". For a repeated key the last value counts.
func splitPairs(s string) ([]archive.KeyValue, error) {
	fields, err := split(s, separator)
	if err != nil {
		return nil, err
	}
	var found limits.Metadata
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
		if err := found.Set(key, unescape(field[at+1:])); err != nil {
			return nil, err
		}
	}
	return found.Pairs, nil
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

// Phrases returns the words of all values of a name. Double quotes keep words together as one phrase.
func (p *Params) Phrases(name string) []string {
	var phrases []string
	for _, text := range p.texts(name) {
		for i, part := range strings.Split(text, `"`) {
			if i%2 == 0 {
				phrases = append(phrases, strings.Fields(part)...)
			} else if part = strings.TrimSpace(part); part != "" {
				phrases = append(phrases, part)
			}
		}
	}
	return phrases
}

// From returns the first second of a date, or a date with time; zero when absent.
func (p *Params) From(name string, location *time.Location) time.Time {
	after := p.After(name, location)
	if after.IsZero() {
		return after
	}
	if _, err := time.Parse(time.DateOnly, p.one(name)); err == nil {
		return after.AddDate(0, 0, -1)
	}
	return after.Add(-time.Second)
}
