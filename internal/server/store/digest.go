package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

const selectUse = `SELECT EXISTS (SELECT 1 FROM document WHERE digest = ?1)
	OR EXISTS (SELECT 1 FROM rendition WHERE digest = ?1)`

// Referenced reports whether a document or a rendition uses the content.
func (s *Store) Referenced(ctx context.Context, digest string) (bool, error) {
	var used bool
	err := s.read.row(ctx, selectUse, digest).Scan(&used)
	if err != nil {
		return false, fmt.Errorf("look for uses of content: %w", err)
	}
	return used, nil
}

// Rendition returns the digest of the PDF made of a content, empty when none was made.
// The variant tells apart renditions that depend on more than the content.
func (s *Store) Rendition(ctx context.Context, source, variant string) (string, error) {
	var digest string
	err := s.read.row(ctx, "SELECT digest FROM rendition WHERE source = ? AND variant = ?",
		source, variant).Scan(&digest)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("look for rendition: %w", err)
	}
	return digest, nil
}

// AddRendition records the PDF made of a content.
func (s *Store) AddRendition(ctx context.Context, source, variant, digest string) error {
	_, err := s.write.exec(ctx, "INSERT OR REPLACE INTO rendition (source, variant, digest) VALUES (?, ?, ?)",
		source, variant, digest)
	if err != nil {
		return fmt.Errorf("add rendition: %w", err)
	}
	return nil
}

// DropRenditions forgets the renditions of a content that no document uses any more and
// returns their digests.
func (s *Store) DropRenditions(ctx context.Context, source string) ([]string, error) {
	rows, err := s.write.query(ctx, `DELETE FROM rendition WHERE source = ?1
		AND NOT EXISTS (SELECT 1 FROM document WHERE digest = ?1) RETURNING digest`, source)
	if err != nil {
		return nil, fmt.Errorf("drop renditions: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var digests []string
	for rows.Next() {
		var digest string
		if err := rows.Scan(&digest); err != nil {
			return nil, fmt.Errorf("drop renditions: %w", err)
		}
		digests = append(digests, digest)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("drop renditions: %w", err)
	}
	return digests, nil
}
