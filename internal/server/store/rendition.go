package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

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

// AddRendition records the PDF made of a content. When no document uses that any more it is
// KindNotFound: nobody would forget the rendition.
func (s *Store) AddRendition(ctx context.Context, source, variant, digest string) error {
	return s.write.change(ctx, func(tx changing) error {
		result, err := tx.exec(ctx, `INSERT INTO rendition (source, variant, digest)
			SELECT DISTINCT digest, CAST(?2 AS TEXT), CAST(?3 AS TEXT) FROM document WHERE digest = ?1
			ON CONFLICT (source, variant) DO UPDATE SET digest = excluded.digest`, source, variant, digest)
		if err != nil {
			return fmt.Errorf("add rendition: %w", err)
		}
		n, err := result.RowsAffected()
		if err == nil && n == 0 {
			return refuse(archive.KindNotFound, "there is no document of this content any more")
		}
		return err
	})
}

// dropRenditions forgets the renditions of a content and returns their digests.
func dropRenditions(ctx context.Context, tx changing, source string) (digests []string, err error) {
	rows, err := tx.query(ctx, "DELETE FROM rendition WHERE source = ? RETURNING digest", source)
	if err != nil {
		return nil, fmt.Errorf("drop renditions: %w", err)
	}
	defer func() { _ = rows.Close() }()
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
