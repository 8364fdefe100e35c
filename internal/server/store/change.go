package store

import (
	"cmp"
	"context"
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
	err = a.write.change(ctx, func(tx session) error {
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
		keywords, err := encodeStrings(union(d.Keywords, t.Keywords))
		if err != nil {
			return err
		}
		err = tx.row(ctx, `INSERT INTO document (tenant, folder, name, archived, keywords,
			created, pages, size, content_type, metadata, auto_export, digest, types, creator, external_id, source, upload)
			SELECT tenant, ?, ?, ?, ?,
			created, pages, size, content_type, metadata, auto_export, digest, types, creator, external_id, source, upload
			FROM document WHERE id = ? RETURNING id`, t.Folder, cmp.Or(t.Name, d.Name), t.At.Unix(), keywords, id).Scan(&made)
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
	return a.set(ctx, id, "UPDATE document SET auto_export = ? WHERE id = ? AND tenant = ?", on)
}

// SetName renames a document.
func (a Archive) SetName(ctx context.Context, id archive.ID, name string) error {
	return a.set(ctx, id, "UPDATE document SET name = ? WHERE id = ? AND tenant = ?", name)
}

// SetKeywords replaces a document's keywords.
func (a Archive) SetKeywords(ctx context.Context, id archive.ID, keywords []string) error {
	value, err := encodeStrings(keywords)
	if err != nil {
		return err
	}
	return a.set(ctx, id, "UPDATE document SET keywords = ? WHERE id = ? AND tenant = ?", value)
}

func (a Archive) set(ctx context.Context, id archive.ID, query string, value any) error {
	result, err := a.write.exec(ctx, query, value, id, a.tenant)
	if err != nil {
		return fmt.Errorf("change document: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil {
		return fmt.Errorf("change document: %w", err)
	} else if n == 0 {
		return noDocument(id)
	}
	return nil
}

// SetMetadata sets the given keys, removes those whose value is nil, and leaves the
// others and their order alone. New keys are appended in alphabetical order.
func (a Archive) SetMetadata(ctx context.Context, id archive.ID, change map[string]*string) error {
	return a.write.change(ctx, func(tx session) error {
		d, err := a.document(ctx, tx, id)
		if err != nil {
			return err
		}
		metadata, err := encodeMetadata(changed(d.Metadata, change))
		if err != nil {
			return err
		}
		if _, err := tx.exec(ctx, "UPDATE document SET metadata = ? WHERE id = ?", metadata, id); err != nil {
			return fmt.Errorf("change metadata: %w", err)
		}
		return nil
	})
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
