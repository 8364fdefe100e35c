package xattr

import (
	"context"
	"fmt"
	"slices"

	"github.com/archivefs/archivefs/archive"
)

// Draft holds the attributes of a document that does not exist yet: of a file to be uploaded, or
// the defaults of a directory.
type Draft struct {
	*archive.Attributes
	// AutoExport is set on the document once it exists, because an upload cannot set it; nil for a
	// directory.
	AutoExport *bool
}

// at returns the draft's attribute of a row; without a Value if the draft has none. That of
// auto-export is a *bool.
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

// Set sets an attribute, or removes it if value is nil. The error is one of Check, and leaves the
// draft unchanged.
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
