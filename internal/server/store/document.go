package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Document is a row of the document table.
type Document struct {
	ID          archive.ID
	Folder      archive.ID
	Name        string
	Created     time.Time
	Archived    time.Time // zero for a document in an inbox
	Pages       int
	Size        int64
	ContentType string
	Keywords    []string
	Metadata    []archive.KeyValue
	AutoExport  bool
	// Digest is the SHA-256 of the content, in hexadecimal.
	Digest  string
	Types   []string
	Creator string
	// CreatorID and ArchiverID are the ids of the users who added and archived it, 0 if there is none.
	// They are determined at that time.
	CreatorID, ArchiverID int64
	ExternalID            string
	// Source is the digest of the uploaded content if that is not the document's.
	Source string
	// Notes and Stamps are on page 1. Archive.Document leaves them out: see Annotations.
	Notes  []archive.Note
	Stamps []archive.Stamp
	// Text is what came of reading the text; only Archive.Document tells.
	Text Reading
}

const selectDocument = `SELECT id, folder, name, created, archived, pages, size, content_type, keywords, metadata,
	auto_export, digest, types, creator, creator_id, archiver_id, coalesce(external_id, ''), coalesce(source, ''),
	coalesce((SELECT replace(state, 'scan', 'waiting') FROM content WHERE content.digest = document.digest), '')
	FROM document WHERE id = ? AND tenant = ?`

// forUpdate ends a query within a change, and locks the rows until the end of the transaction. In
// SQLite changes wait for each other anyway.
const forUpdate = " FOR UPDATE"

const changeDocument = selectDocument + forUpdate

// Document returns one document without its annotations. The error is KindNotFound if there is none.
func (a Archive) Document(ctx context.Context, id archive.ID) (Document, error) {
	return findDocument(ctx, a.read, selectDocument, a.tenant, id)
}

func findDocument(ctx context.Context, q session, query string, tenant TenantID, id archive.ID) (Document, error) {
	row := q.row(ctx, query, id, tenant)
	var (
		d                         Document
		created                   int64
		archived                  sql.NullInt64
		keywords, metadata, types []byte
	)
	err := row.Scan(&d.ID, &d.Folder, &d.Name, &created, &archived, &d.Pages, &d.Size, &d.ContentType, &keywords,
		&metadata, &d.AutoExport, &d.Digest, &types, &d.Creator, &d.CreatorID, &d.ArchiverID, &d.ExternalID, &d.Source, &d.Text)
	if errors.Is(err, sql.ErrNoRows) {
		return Document{}, refuse(archive.KindNotFound, "there is no document %d", id)
	}
	if err != nil {
		return Document{}, fmt.Errorf("read document: %w", err)
	}
	d.Created, d.Archived = time.Unix(created, 0), instant(archived)
	var pairs []keyValue
	if err := errors.Join(json.Unmarshal(keywords, &d.Keywords), json.Unmarshal(metadata, &pairs),
		json.Unmarshal(types, &d.Types)); err != nil {
		return Document{}, fmt.Errorf("read document %d: %w", id, err)
	}
	for _, pair := range pairs {
		d.Metadata = append(d.Metadata, archive.KeyValue(pair))
	}
	return d, nil
}

// keyValue is an entry of the metadata column, as on the wire.
type keyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func encodeMetadata(metadata []archive.KeyValue) (string, error) {
	pairs := make([]keyValue, 0, len(metadata))
	for _, pair := range metadata {
		pairs = append(pairs, keyValue(pair))
	}
	return encode(pairs)
}

func encodeStrings(values []string) (string, error) {
	if values == nil {
		values = []string{}
	}
	return encode(values)
}

func encode(value any) (string, error) {
	b, err := json.Marshal(value)
	return string(b), wrapped("encode column", err)
}

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
	var notes []Note
	var stamps []Stamp
	err := eachRow(ctx, a.read, "read annotations", func(row scanner) error {
		var kind, title, text, date, creator string
		var by int64
		err := row.Scan(&kind, &title, &text, &date, &creator, &by)
		if kind == "note" {
			notes = append(notes, Note{archive.Note{Text: text, Date: date, Creator: creator}, by})
		} else {
			stamps = append(stamps, Stamp{archive.Stamp{Title: title, Text: text, Date: date, Creator: creator}, by})
		}
		return err
	}, `SELECT kind, title, text, date, creator, creator_id FROM annotation
		WHERE document = (SELECT id FROM document WHERE id = ? AND tenant = ?) AND page = 1 ORDER BY id`, id, a.tenant)
	if err != nil {
		return nil, nil, err
	}
	return notes, stamps, nil
}

// UploadedWith returns the ids of the other documents of the same upload, ascending. Archiving does not separate them.
func (a Archive) UploadedWith(ctx context.Context, id archive.ID) ([]archive.ID, error) {
	if _, err := a.Document(ctx, id); err != nil {
		return nil, err
	}
	ids, err := queryIDs(ctx, a.read, `SELECT id FROM document WHERE id != ?1 AND +tenant = ?2 AND upload =
		(SELECT upload FROM document WHERE id = ?1)`, id, a.tenant)
	slices.Sort(ids)
	return ids, err
}

// optional is the column value of a text or an id, null for the zero one.
func optional[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

// seconds is the column value of a time, null for the zero one.
func seconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}

func instant(column sql.NullInt64) time.Time {
	if !column.Valid {
		return time.Time{}
	}
	return time.Unix(column.Int64, 0)
}
