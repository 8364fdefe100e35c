package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// Reference is a content that something refers to.
type Reference struct {
	Digest string
	// Documents is how many documents hold it; 0 for what is a rendition alone.
	Documents int64
	// Smallest and Largest are the sizes that those documents tell.
	Smallest, Largest int64
}

// References returns the first contents after a digest, in ascending order, that documents or
// renditions refer to; at most limit, and none at the end.
func (s *Store) References(ctx context.Context, after string, limit int) ([]Reference, error) {
	held, err := s.references(ctx, `SELECT digest, count(*), min(size), max(size) FROM document
		WHERE digest > ? GROUP BY digest ORDER BY digest LIMIT ?`, after, limit)
	if err != nil {
		return nil, err
	}
	made, err := s.references(ctx, `SELECT DISTINCT digest, 0, 0, 0 FROM rendition
		WHERE digest > ? ORDER BY digest LIMIT ?`, after, limit)
	if err != nil {
		return nil, err
	}
	merged := make([]Reference, 0, limit)
	for len(merged) < limit && len(held)+len(made) > 0 {
		switch {
		case len(made) == 0 || len(held) > 0 && held[0].Digest < made[0].Digest:
			merged, held = append(merged, held[0]), held[1:]
		case len(held) == 0 || made[0].Digest < held[0].Digest:
			merged, made = append(merged, made[0]), made[1:]
		default: // a document holds what is a rendition, too
			merged, held, made = append(merged, held[0]), held[1:], made[1:]
		}
	}
	return merged, nil
}

func (s *Store) references(ctx context.Context, query string, args ...any) (found []Reference, err error) {
	rows, err := s.read.query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list references: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var r Reference
		if err := rows.Scan(&r.Digest, &r.Documents, &r.Smallest, &r.Largest); err != nil {
			return nil, fmt.Errorf("list references: %w", err)
		}
		found = append(found, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list references: %w", err)
	}
	return found, nil
}

// Holder is a document that needs a content.
type Holder struct {
	ID     archive.ID `json:"id"`
	Tenant TenantID   `json:"tenant"`
	// Path has the names of the folders around it, the mandator first, and its own name.
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// Holders returns the first documents that hold a content, or hold what the content was made
// of, by ascending id; at most limit.
func (s *Store) Holders(ctx context.Context, digest string, limit int) (holders []Holder, err error) {
	rows, err := s.read.query(ctx, `SELECT id, tenant, folder, name, size FROM document
		WHERE digest = ?1 OR digest IN (SELECT source FROM rendition WHERE digest = ?1) ORDER BY id LIMIT ?2`, digest, limit)
	if err != nil {
		return nil, fmt.Errorf("list holders of content: %w", err)
	}
	var folders []archive.ID
	for rows.Next() {
		var h Holder
		var folder archive.ID
		if err = rows.Scan(&h.ID, &h.Tenant, &folder, &h.Path, &h.Size); err != nil {
			break
		}
		holders, folders = append(holders, h), append(folders, folder)
	}
	if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("list holders of content: %w", err)
	}
	for i := range holders {
		above, err := s.path(ctx, folders[i])
		if err != nil {
			return nil, err
		}
		holders[i].Path = above + "/" + holders[i].Path
	}
	return holders, nil
}

// deepest bounds the way up from a folder, which may lie in a loop.
const deepest = 1000

// path has the names of a folder and of those above it, as far as they are there.
func (s *Store) path(ctx context.Context, folder archive.ID) (path string, err error) {
	rows, err := s.read.query(ctx, `WITH RECURSIVE up (id, depth) AS (
		SELECT id, 0 FROM folder WHERE id = ?1 UNION ALL
		SELECT folder.parent, depth + 1 FROM up JOIN folder USING (id) WHERE folder.parent IS NOT NULL AND depth < ?2)
		SELECT name FROM up JOIN folder USING (id) ORDER BY depth`, folder, deepest)
	if err != nil {
		return "", fmt.Errorf("find path of folder: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return "", fmt.Errorf("find path of folder: %w", err)
		}
		if path != "" {
			name += "/"
		}
		path = name + path
	}
	if err := rows.Err(); err != nil {
		return "", fmt.Errorf("find path of folder: %w", err)
	}
	return path, nil
}
