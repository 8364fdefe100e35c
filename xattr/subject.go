package xattr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// State is the state of a file, as the attribute state shows it.
type State string

// The states.
const (
	StateArchived State = "archived" // a document of the archive
	StateInbox    State = "inbox"    // a document in an inbox
	StatePending  State = "pending"  // pending or being sent
	StateFailed   State = "failed"   // not archived, and not retried automatically
	StateLocal    State = "local"    // never to be uploaded, or not closed yet
)

// Cached says how much of a content is on this machine, as the attribute cached shows it.
type Cached string

// The values of Cached.
const (
	CachedWhole Cached = "yes"
	CachedPart  Cached = "part" // it is being downloaded
	CachedNot   Cached = "no"
)

// Subject is what attributes are read from. Fields that do not apply to it are zero.
type Subject struct {
	// ID is the id of a document or folder at the service.
	ID archive.ID
	// Document is the document's entry in the document list.
	Document *archive.Document
	// State and Error belong to a file; Error is why it is pending or failed.
	State State
	Error string
	// Cached says how much of a file's content is on this machine.
	Cached Cached
	// Keep is KeepOn, KeepAbove, or empty for what is not kept.
	Keep string
	// Kind and Path belong to a directory.
	Kind, Path string
	// Draft belongs to a file to be uploaded, Defaults to a directory.
	Draft    Draft
	Defaults Draft
}

// Value is an attribute with its value. The value can be longer than MaxValue.
type Value struct {
	Attr Attr
	Data []byte
}

// Values returns the attributes that are known without a request, in the order of a listing.
// Unknown dates, auto-export status and keywords are left out. Of several metadata entries with one
// key the first counts. Unlisted attributes are included.
func (s Subject) Values() []Value {
	var values []Value
	for i := range table {
		r := &table[i]
		if r.value != nil {
			if v := r.value(&s); v != nil {
				values = append(values, Value{Attr{row: r}, v})
			}
		}
		if r.entries != nil {
			values = append(values, entries(Attr{row: r}, r.entries(&s))...)
		}
	}
	return slices.Concat(values, s.Draft.values(false), s.Defaults.values(true))
}

// entries returns the first entry of each key.
func entries(attr Attr, all []archive.KeyValue) []Value {
	values := make([]Value, 0, len(all))
	seen := make(map[string]bool, len(all))
	for _, e := range all {
		if e.Key == "" || seen[e.Key] {
			continue // the name needs a key
		}
		seen[e.Key] = true
		attr.Key = e.Key
		values = append(values, Value{attr, []byte(e.Value)})
	}
	return values
}

// document reads an attribute from the document's list entry.
func document(read func(*archive.Document) []byte) func(*Subject) []byte {
	return func(s *Subject) []byte {
		if s.Document == nil {
			return nil
		}
		return read(s.Document)
	}
}

func metadata(s *Subject) []archive.KeyValue {
	if s.Document == nil {
		return nil
	}
	return s.Document.Metadata
}

// text is a value that is absent if empty.
func text[T ~string | ~[]byte](t T) []byte {
	if len(t) == 0 {
		return nil
	}
	return []byte(t)
}

// number is an id that is absent if 0.
func number(id archive.ID) []byte {
	if id == 0 {
		return nil
	}
	return []byte(id.String())
}

// pages is the number of pages of a document, absent until that is known.
func pages(d *archive.Document) []byte {
	if !d.Listed() {
		return nil
	}
	return strconv.AppendInt(nil, int64(d.Pages), 10)
}

// date is a time that is absent if zero.
func date(t time.Time) []byte {
	if t.IsZero() {
		return nil
	}
	return FormatTime(t)
}

// Find returns the value of a, and whether it is among values.
func Find(values []Value, a Attr) ([]byte, bool) {
	for _, v := range values {
		if v.Attr == a {
			return v.Data, true
		}
	}
	return nil, false
}

// Names returns the names of those values that listxattr shows, in their order.
func Names(values []Value) []string {
	names := make([]string, 0, len(values))
	for _, v := range values {
		if v.Attr.Listed() {
			names = append(names, v.Attr.Name())
		}
	}
	return names
}

// Errors of names and values.
var (
	// ErrUnknown: the name has Prefix but is not in the table.
	ErrUnknown = errors.New("unknown attribute")
	// ErrForeign: the name is in the user namespace but not below Prefix.
	ErrForeign = errors.New("not an attribute of the archive")
	// ErrNamespace: the name is outside of the user namespace.
	ErrNamespace = errors.New("attribute namespace is not supported")
	// ErrValue: the value is not one that the attribute can have.
	ErrValue = errors.New("bad attribute value")
	// ErrStays: the service has no operation that removes the attribute of a document.
	ErrStays = errors.New("the service has no operation that removes it")
	// ErrTooBig: the value is longer than MaxValue.
	ErrTooBig = errors.New("attribute value is too long")
)

// Draft holds the attributes of a document that does not exist yet: of a file to be uploaded, or
// the defaults of a directory.
type Draft struct {
	*archive.Attributes
	// AutoExport is set on the document once it exists, because an upload cannot set it; nil for a directory.
	AutoExport *bool
}

// at returns the draft's attribute of a row; without a Value if the draft has none. That of auto-export is a *bool.
func (d Draft) at(r *row) archive.Attribute {
	if d.AutoExport != nil && r.name == "auto-export" {
		return archive.Attribute{Name: r.name, Value: d.AutoExport}
	}
	if d.Attributes != nil {
		for _, a := range d.All() {
			if a.Name == r.name {
				return a
			}
		}
	}
	return archive.Attribute{}
}

// values returns the attributes that are set. isDefault: they are those of a directory.
func (d Draft) values(isDefault bool) (values []Value) {
	for i := range table {
		attr := Attr{row: &table[i], Default: isDefault}
		var value []byte
		switch v := d.at(attr.row).Value.(type) {
		case *[]archive.KeyValue:
			values = append(values, entries(attr, *v)...)
		case *[]string:
			value = text(FormatKeywords(*v))
		case *string:
			value = text(*v)
		case *archive.Flag:
			value = text(v.String())
		case *bool:
			if *v {
				value = text(archive.FlagTrue.String())
			}
		}
		if value != nil {
			values = append(values, Value{attr, value})
		}
	}
	return values
}

// Set sets an attribute, or removes it if value is nil. The error is one of Check, and leaves the draft unchanged.
func (d Draft) Set(a Attr, value []byte) error {
	switch at := d.at(a.row); v := at.Value.(type) {
	case *[]archive.KeyValue:
		return setEntry(v, a.Key, value)
	case *[]string:
		return assign(v, value, ParseKeywords)
	case *archive.Flag:
		return assign(v, value, parseFlag)
	case *bool:
		return assign(v, value, func(value []byte) (bool, error) {
			flag, err := parseFlag(value)
			return flag == archive.FlagTrue, err
		})
	case *string:
		before := *v
		if err := assign(v, value, ParseText); err != nil {
			return err
		}
		if at.Check() != nil || value != nil && *v == "" && at.IsChoice() {
			*v = before
			return fmt.Errorf("none of the values it can have: %w", ErrValue)
		}
		return nil
	}
	_, err := ParseText(value)
	return err
}

// assign sets at to the result of parse.
func assign[V any](at *V, value []byte, parse func([]byte) (V, error)) error {
	v, err := parse(value)
	if err == nil {
		*at = v
	}
	return err
}

// setEntry sets the value of a key, or removes the key when value is nil.
func setEntry(list *[]archive.KeyValue, key string, value []byte) error {
	text, err := ParseText(value)
	if err != nil {
		return err
	}
	*list = slices.DeleteFunc(slices.Clone(*list), func(kv archive.KeyValue) bool { return kv.Key == key })
	if value != nil {
		*list = append(*list, archive.KeyValue{Key: key, Value: text})
	}
	return nil
}

// Service changes the attributes of a document at the service.
type Service interface {
	SetAutoExport(ctx context.Context, doc archive.ID, on bool) error
	SetKeywords(ctx context.Context, doc archive.ID, keywords []string) error
	SetMetadata(ctx context.Context, doc archive.ID, values []archive.KeyValue) error
}

// Change sets the attribute of a document at the service and then in d; nil removes it. The
// attribute must be Writable on it. The error wraps ErrStays if the service has no operation that
// removes the attribute, and ErrValue for a wrong value.
func (a Attr) Change(ctx context.Context, s Service, d *archive.Document, value []byte) error {
	if value == nil && !a.row.removable {
		return ErrStays
	}
	return a.row.change(ctx, s, d, a.Key, value)
}

func changeAutoExport(ctx context.Context, s Service, d *archive.Document, _ string, value []byte) error {
	on, err := ParseBool(value)
	if err != nil {
		return err
	}
	if err := s.SetAutoExport(ctx, d.ID, on); err != nil {
		return err
	}
	d.AutoExport = archive.FlagOf(on)
	return nil
}

func changeKeywords(ctx context.Context, s Service, d *archive.Document, _ string, value []byte) error {
	keywords, err := ParseKeywords(value)
	if err != nil {
		return err
	}
	if err := s.SetKeywords(ctx, d.ID, keywords); err != nil {
		return err
	}
	d.Keywords = keywords
	return nil
}

func changeMetadata(ctx context.Context, s Service, d *archive.Document, key string, value []byte) error {
	text, err := ParseText(value)
	if err != nil {
		return err
	}
	if err := s.SetMetadata(ctx, d.ID, []archive.KeyValue{{Key: key, Value: text}}); err != nil {
		return err
	}
	return setEntry(&d.Metadata, key, value)
}
