package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Target says where an inbox document is archived.
type Target struct {
	Folder   archive.ID
	Name     string   // empty to keep the current one
	Keywords []string // added to those it has
	At       time.Time
}

// ArchiveDocument archives an inbox document: a new document with an id of its own
// appears in the target folder, the one in the inbox is gone. A document that is not in
// an inbox is KindConflict, a target that is in one KindInvalid.
func (a Archive) ArchiveDocument(ctx context.Context, id archive.ID, t Target) (made archive.ID, err error) {
	err = a.write.change(ctx, func(tx changing) error {
		d, err := a.inboxDocument(ctx, tx, id, archive.KindConflict)
		if err != nil {
			return err
		}
		target, err := a.folder(ctx, tx, t.Folder)
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
		err = tx.row(ctx, `INSERT INTO document (tenant, folder, name, archived, keywords, said,
			created, pages, size, content_type, metadata, auto_export, digest, types, creator, external_id, source, upload, pairs)
			SELECT tenant, ?, ?, ?, ?, ?,
			created, pages, size, content_type, metadata, auto_export, digest, types, creator, external_id, source, upload, pairs
			FROM document WHERE id = ? RETURNING id`, t.Folder, d.Name, t.At.Unix(), keywords, said(d), id).Scan(&made)
		if err != nil {
			return fmt.Errorf("archive document: %w", err)
		}
		if _, err := tx.exec(ctx, "UPDATE annotation SET document = ? WHERE document = ?", made, id); err != nil {
			return fmt.Errorf("move annotations: %w", err)
		}
		return remove(ctx, tx, id)
	})
	return made, err
}

// union appends the added values that are not there yet.
func union(have, added []string) []string {
	for _, value := range added {
		if !slices.Contains(have, value) {
			have = append(have, value)
		}
	}
	return have
}

// SetAutoExport sets the auto-export status.
func (a Archive) SetAutoExport(ctx context.Context, id archive.ID, on bool) error {
	return a.write.change(ctx, func(tx changing) error {
		result, err := tx.exec(ctx, "UPDATE document SET auto_export = ? WHERE id = ? AND tenant = ?", on, id, a.tenant)
		if err != nil {
			return fmt.Errorf("change document: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil {
			return fmt.Errorf("change document: %w", err)
		} else if n == 0 {
			return noDocument(id)
		}
		return nil
	})
}

// SetName renames a document.
func (a Archive) SetName(ctx context.Context, id archive.ID, name string) error {
	return a.alter(ctx, id, func(d *Document) { d.Name = name })
}

// SetKeywords replaces a document's keywords.
func (a Archive) SetKeywords(ctx context.Context, id archive.ID, keywords []string) error {
	return a.alter(ctx, id, func(d *Document) { d.Keywords = keywords })
}

// SetMetadata sets the given keys, removes those whose value is nil, and leaves the
// others and their order alone. New keys are appended in alphabetical order.
func (a Archive) SetMetadata(ctx context.Context, id archive.ID, change map[string]*string) error {
	return a.alter(ctx, id, func(d *Document) { d.Metadata = changed(d.Metadata, change) })
}

// alter changes what is said about a document.
func (a Archive) alter(ctx context.Context, id archive.ID, change func(*Document)) error {
	return a.write.change(ctx, func(tx changing) error {
		d, err := a.document(ctx, tx, changeDocument, id)
		if err != nil {
			return err
		}
		change(&d)
		return describe(ctx, tx, d)
	})
}

// describe writes what can be said anew about a document.
func describe(ctx context.Context, tx changing, d Document) error {
	keywords, err1 := encodeStrings(d.Keywords)
	metadata, err2 := encodeMetadata(d.Metadata)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	_, err := tx.exec(ctx, "UPDATE document SET name = ?, keywords = ?, metadata = ?, said = ?, pairs = ? WHERE id = ?",
		d.Name, keywords, metadata, said(d), pairs(d), d.ID)
	if err != nil {
		return fmt.Errorf("change document: %w", err)
	}
	return nil
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
	known := len(result)
	for key, value := range change {
		if value != nil && !seen[key] {
			result = append(result, archive.KeyValue{Key: key, Value: *value})
		}
	}
	added := result[known:]
	sort.Slice(added, func(i, j int) bool { return added[i].Key < added[j].Key })
	return result
}
