package store

import (
	"context"
	"fmt"
)

// Extent is what it takes to fill another database with what one holds.
type Extent struct {
	Rows int64 // that are written; a text counts as two
	// Room is how many bytes the texts need in a directory for temporary files, at most or nearly so.
	Room int64
	// Largest is the size of the largest content, as documents tell.
	Largest int64
}

// Extent finds that out, of a SQLite database.
func (s *Store) Extent(ctx context.Context) (e Extent, err error) {
	for _, t := range tables() {
		var n int64
		if err := s.read.row(ctx, "SELECT count(*) FROM "+t.name+t.where()).Scan(&n); err != nil {
			return e, fmt.Errorf("count %s: %w", t.name, err)
		}
		e.Rows += n
	}
	if err := s.read.row(ctx, "SELECT coalesce(max(size), 0) FROM content").Scan(&e.Largest); err != nil {
		return e, fmt.Errorf("look for the largest content: %w", err)
	}
	texts, places, err := countTexts(ctx, s.read)
	if err != nil {
		return e, fmt.Errorf("count texts: %w", err)
	}
	e.Rows, e.Room = e.Rows+2*texts, placeRoom*places
	return e, nil
}
