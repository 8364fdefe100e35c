package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Target says where an inbox document is archived.
type Target struct {
	Folder   archive.ID
	Name     string   // empty to keep the current one
	Keywords []string // added to the current ones
	At       time.Time
}

// ArchiveDocument archives an inbox document: it is removed, and a new document with an id of its own is added to the
// target folder. The error is KindConflict for a document that is not in an inbox, KindInvalid for a target that is.
func (a Archive) ArchiveDocument(ctx context.Context, id archive.ID, t Target) (made archive.ID, err error) {
	err = a.change(ctx, func(e edit) error {
		d, err := e.inboxDocument(ctx, id, archive.KindConflict)
		if err != nil {
			return err
		}
		before := d
		target, err := findFolder(ctx, e, e.tenant, t.Folder)
		if err != nil {
			return err
		}
		if target.Inbox {
			return refuse(archive.KindInvalid, "folder %d lies in an inbox", t.Folder)
		}
		d.Name, d.Keywords = cmp.Or(t.Name, d.Name), union(d.Keywords, t.Keywords)
		keywords, err := encodeStrings(d.Keywords)
		if err != nil {
			return err
		}
		by, err := e.person(ctx, e.user)
		if err != nil {
			return err
		}
		err = e.row(ctx, `INSERT INTO document (tenant, folder, name, archived, archiver_id, keywords, said,
			created, pages, size, content_type, metadata, auto_export, digest, types, creator, creator_id, external_id, source, upload, pairs)
			SELECT tenant, ?, ?, ?, ?, ?, CAST(? AS TEXT) || `+remarks+`,
			created, pages, size, content_type, metadata, auto_export, digest, types, creator, creator_id, external_id, source, upload, pairs
			FROM document WHERE id = ? RETURNING id`, t.Folder, d.Name, t.At.Unix(), by, keywords, said(d), id).Scan(&made)
		if err != nil {
			return fmt.Errorf("archive document: %w", err)
		}
		if err := run(ctx, e, "move annotations", "UPDATE annotation SET document = ? WHERE document = ?", made, id); err != nil {
			return err
		}
		if err := e.remove(ctx, id); err != nil {
			return err
		}
		d.ID, d.Folder = made, t.Folder
		return e.recordArchived(ctx, before, d)
	})
	return made, err
}

// recordArchived records that an inbox document was archived.
func (e edit) recordArchived(ctx context.Context, before, after Document) error {
	was, err := e.place(ctx, before.Folder, before.Name)
	if err != nil {
		return err
	}
	became, err := e.place(ctx, after.Folder, after.Name)
	if err != nil {
		return err
	}
	entries, err := differences(before, after)
	if err != nil {
		return err
	}
	archived := Entry{Action: DocumentArchived, Document: after.ID, Former: before.ID, Folder: before.Folder, Was: was, Became: became}
	return e.record(ctx, append([]Entry{archived}, entries...)...)
}

// union appends the added values that are new.
func union(have, added []string) []string {
	have = slices.Clip(have)
	for _, value := range added {
		if !slices.Contains(have, value) {
			have = append(have, value)
		}
	}
	return have
}

// Alteration changes the metadata of a document. If it returns an error nothing is changed.
type Alteration func(d *Document) error

// Alter changes the metadata of a document, and records the differences. The error is KindNotFound if
// there is no such document.
func (a Archive) Alter(ctx context.Context, id archive.ID, how Alteration) error {
	return a.change(ctx, func(e edit) error {
		d, err := findDocument(ctx, e, changeDocument, e.tenant, id)
		if err != nil {
			return err
		}
		before := d
		if err := how(&d); err != nil {
			return err
		}
		return e.describe(ctx, before, d)
	})
}

// SetAutoExport sets the auto-export status.
func SetAutoExport(on bool) Alteration {
	return func(d *Document) error { d.AutoExport = on; return nil }
}

// SetName renames a document.
func SetName(name string) Alteration {
	return func(d *Document) error { d.Name = name; return nil }
}

// SetKeywords replaces a document's keywords.
func SetKeywords(keywords []string) Alteration {
	return func(d *Document) error { d.Keywords = keywords; return nil }
}

const (
	// MaxEntries bounds the keywords, the document types and the metadata entries of a document, each.
	MaxEntries = 1000
	// MaxMetadata bounds all keys and values of a document's metadata together, in bytes.
	MaxMetadata = 1 << 20
)

// SetMetadata sets the given keys, removes those whose value is nil, and leaves the others and their
// order unchanged. New keys are appended in alphabetical order. The error is KindTooLarge if a limit is
// exceeded, unless the document had as much before.
func SetMetadata(change map[string]*string) Alteration {
	return func(d *Document) error {
		before := d.Metadata
		d.Metadata = changed(before, change)
		if n := len(d.Metadata); n > MaxEntries && n > len(before) {
			return refuse(archive.KindTooLarge, "the document would have more than %d entries", MaxEntries)
		}
		if n := length(d.Metadata); n > MaxMetadata && n > length(before) {
			return refuse(archive.KindTooLarge, "the document would have more than %d bytes of metadata", MaxMetadata)
		}
		return nil
	}
}

// length is the length of all keys and values, in bytes.
func length(metadata []archive.KeyValue) (n int) {
	for _, pair := range metadata {
		n += len(pair.Key) + len(pair.Value)
	}
	return n
}

// describe writes and records the changed metadata of a document, if anything has changed.
func (e edit) describe(ctx context.Context, before, d Document) error {
	entries, err := differences(before, d)
	if err != nil || len(entries) == 0 {
		return err
	}
	keywords, err1 := encodeStrings(d.Keywords)
	metadata, err2 := encodeMetadata(d.Metadata)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	err = run(ctx, e, "change document", "UPDATE document SET name = ?, keywords = ?, metadata = ?, auto_export = ?, pairs = ?, said = CAST(? AS TEXT) || "+remarks+" WHERE id = ?",
		d.Name, keywords, metadata, d.AutoExport, pairs(d), said(d), d.ID)
	if err != nil {
		return err
	}
	return e.record(ctx, entries...)
}

func changed(metadata []archive.KeyValue, change map[string]*string) []archive.KeyValue {
	var result []archive.KeyValue
	seen := map[string]bool{}
	for _, pair := range metadata {
		value, named := change[pair.Key]
		switch {
		case !named:
			result = append(result, pair)
		case value != nil && !seen[pair.Key]:
			result = append(result, archive.KeyValue{Key: pair.Key, Value: *value})
		}
		seen[pair.Key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(change)) {
		if value := change[key]; value != nil && !seen[key] {
			result = append(result, archive.KeyValue{Key: key, Value: *value})
		}
	}
	return result
}

// Content describes new content of a document.
type Content struct {
	Digest      string
	Size        int64
	ContentType string
	Pages       int
	Keywords    []string // nil to keep the current ones
}

// ReplaceContent gives an inbox document new content and returns the digest of the old one. The error
// is KindForbidden for an archived document.
func (a Archive) ReplaceContent(ctx context.Context, id archive.ID, c Content) (old string, err error) {
	err = a.change(ctx, func(e edit) error {
		d, err := e.inboxDocument(ctx, id, archive.KindForbidden)
		if err != nil {
			return err
		}
		if err := run(ctx, e, "replace content", "UPDATE document SET digest = ?, source = NULL, size = ?, content_type = ?, pages = ? WHERE id = ?",
			c.Digest, c.Size, c.ContentType, c.Pages, id); err != nil {
			return err
		}
		old = d.Digest
		err = e.record(ctx, Entry{Action: ContentReplaced, Document: id, Was: d.Digest, Became: c.Digest})
		if err != nil || c.Keywords == nil {
			return err
		}
		before := d
		d.Keywords = c.Keywords
		return e.describe(ctx, before, d)
	})
	return old, err
}

// DeleteDocument removes an inbox document and returns the digest of its content. The error is
// KindForbidden for an archived document.
func (a Archive) DeleteDocument(ctx context.Context, id archive.ID) (digest string, err error) {
	err = a.change(ctx, func(e edit) error {
		d, err := e.inboxDocument(ctx, id, archive.KindForbidden)
		if err != nil {
			return err
		}
		digest = d.Digest
		was, err := e.place(ctx, d.Folder, d.Name)
		if err != nil {
			return err
		}
		if err := e.remove(ctx, id); err != nil {
			return err
		}
		return e.record(ctx, Entry{Action: DocumentRemoved, Document: id, Was: was + " " + digest})
	})
	return digest, err
}

// inboxDocument returns an inbox document. The error for an archived one has the given kind.
func (e edit) inboxDocument(ctx context.Context, id archive.ID, kind archive.Kind) (Document, error) {
	d, err := findDocument(ctx, e, changeDocument, e.tenant, id)
	if err != nil {
		return Document{}, err
	}
	in, err := findFolder(ctx, e, e.tenant, d.Folder)
	if err != nil {
		return Document{}, err
	}
	if !in.Inbox {
		return Document{}, refuse(kind, "document %d is archived already", id)
	}
	return d, nil
}

func (e edit) remove(ctx context.Context, id archive.ID) error {
	return run(ctx, e, "remove document", "DELETE FROM document WHERE id = ?", id)
}
