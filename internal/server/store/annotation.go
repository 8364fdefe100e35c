package store

import (
	"context"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// Annotations returns the notes and stamps on a document's first page, the oldest first.
func (a Archive) Annotations(ctx context.Context, id archive.ID) ([]archive.Note, []archive.Stamp, error) {
	rows, err := a.read.query(ctx,
		`SELECT kind, title, text, date, creator FROM annotation
		WHERE document = (SELECT id FROM document WHERE id = ? AND tenant = ?) AND page = 1 ORDER BY id`, id, a.tenant)
	if err != nil {
		return nil, nil, fmt.Errorf("read annotations: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var notes []archive.Note
	var stamps []archive.Stamp
	for rows.Next() {
		var kind, title, text, date, creator string
		if err := rows.Scan(&kind, &title, &text, &date, &creator); err != nil {
			return nil, nil, fmt.Errorf("read annotations: %w", err)
		}
		if kind == "note" {
			notes = append(notes, archive.Note{Text: text, Date: date, Creator: creator})
		} else {
			stamps = append(stamps, archive.Stamp{Title: title, Text: text, Date: date, Creator: creator})
		}
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("read annotations: %w", err)
	}
	return notes, stamps, nil
}
