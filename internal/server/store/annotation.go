package store

import (
	"context"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// Note is a note on a document.
type Note struct {
	archive.Note
	CreatorID int64 // 0 without one
}

// Stamp is a stamp on a document.
type Stamp struct {
	archive.Stamp
	CreatorID int64 // 0 without one
}

// Annotations returns the notes and stamps on a document's first page, the oldest first.
func (a Archive) Annotations(ctx context.Context, id archive.ID) ([]Note, []Stamp, error) {
	rows, err := a.read.query(ctx,
		`SELECT kind, title, text, date, creator, creator_id FROM annotation
		WHERE document = (SELECT id FROM document WHERE id = ? AND tenant = ?) AND page = 1 ORDER BY id`, id, a.tenant)
	if err != nil {
		return nil, nil, fmt.Errorf("read annotations: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var notes []Note
	var stamps []Stamp
	for rows.Next() {
		var kind, title, text, date, creator string
		var by int64
		if err := rows.Scan(&kind, &title, &text, &date, &creator, &by); err != nil {
			return nil, nil, fmt.Errorf("read annotations: %w", err)
		}
		if kind == "note" {
			notes = append(notes, Note{archive.Note{Text: text, Date: date, Creator: creator}, by})
		} else {
			stamps = append(stamps, Stamp{archive.Stamp{Title: title, Text: text, Date: date, Creator: creator}, by})
		}
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("read annotations: %w", err)
	}
	return notes, stamps, nil
}
