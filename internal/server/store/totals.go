package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Totals are what a database holds, of all tenants.
type Totals struct {
	Tenants   int64 `json:"tenants"`
	Mandators int64 `json:"mandators"`
	Inboxes   int64 `json:"inboxes"`
	Folders   int64 `json:"folders"` // all but mandators and inboxes
	Documents int64 `json:"documents"`
	Bytes     int64 `json:"bytes"` // of all documents, each counted
	// Contents are those of documents, without renditions; equal ones are kept once.
	Contents       int64 `json:"contents"`
	ContentBytes   int64 `json:"content-bytes"`
	SharedContents int64 `json:"shared-contents"` // of more than one document
	Renditions     int64 `json:"renditions"`
	InboxDocuments int64 `json:"inbox-documents"`
	// OldestInbox is the creation date of the oldest document in an inbox, nil without one.
	OldestInbox *time.Time `json:"oldest-inbox-document,omitempty"`
	// Texts is how far the index of contents is.
	Texts Backlog `json:"text-index"`
}

// Totals counts.
func (s *Store) Totals(ctx context.Context) (t Totals, err error) {
	var oldest sql.NullInt64
	for _, count := range []struct {
		query string
		into  []any
	}{
		{"SELECT count(*) FROM tenant", []any{&t.Tenants}},
		{`SELECT coalesce(sum(CASE WHEN parent IS NULL AND NOT inbox THEN 1 ELSE 0 END), 0),
			coalesce(sum(CASE WHEN parent IS NULL AND inbox THEN 1 ELSE 0 END), 0),
			coalesce(sum(CASE WHEN parent IS NULL THEN 0 ELSE 1 END), 0) FROM folder`, []any{&t.Mandators, &t.Inboxes, &t.Folders}},
		{"SELECT count(*), coalesce(sum(size), 0) FROM document", []any{&t.Documents, &t.Bytes}},
		{
			`SELECT count(*), coalesce(sum(size), 0), coalesce(sum(CASE WHEN n > 1 THEN 1 ELSE 0 END), 0)
			FROM (SELECT max(size) AS size, count(*) AS n FROM document GROUP BY digest) AS content`,
			[]any{&t.Contents, &t.ContentBytes, &t.SharedContents},
		},
		{"SELECT count(*) FROM rendition", []any{&t.Renditions}},
		{"SELECT count(*), min(d.created) FROM document d JOIN folder f ON f.id = d.folder WHERE f.inbox", []any{&t.InboxDocuments, &oldest}},
	} {
		if err := s.read.row(ctx, count.query).Scan(count.into...); err != nil {
			return t, fmt.Errorf("count: %w", err)
		}
	}
	if oldest.Valid {
		at := time.Unix(oldest.Int64, 0).UTC()
		t.OldestInbox = &at
	}
	t.Texts, err = s.Backlog(ctx)
	return t, err
}
