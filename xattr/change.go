package xattr

import (
	"context"

	"github.com/archivefs/archivefs/archive"
)

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
