package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
	// CreatorID and ArchiverID are the numbers of who has added and archived it, 0 without one. They are
	// found out when that is done.
	CreatorID, ArchiverID int64
	ExternalID            string
	// Source is the digest of the uploaded content when that is not the document's.
	Source string
	// Notes and Stamps lie on page 1. Document leaves them out: see Annotations.
	Notes  []archive.Note
	Stamps []archive.Stamp
}

const selectDocument = `SELECT id, folder, name, created, archived, pages, size, content_type, keywords, metadata,
	auto_export, digest, types, creator, creator_id, archiver_id, coalesce(external_id, ''), coalesce(source, '')
	FROM document WHERE id = ? AND tenant = ?`

// forUpdate ends a query within a change: until the change is made no other one sees the row
// as it was. In SQLite changes wait for each other anyway.
const forUpdate = " FOR UPDATE"

const changeDocument = selectDocument + forUpdate

// Document returns one document without its annotations, KindNotFound when there is none.
func (a Archive) Document(ctx context.Context, id archive.ID) (Document, error) {
	return a.document(ctx, a.read, selectDocument, id)
}

func (a Archive) document(ctx context.Context, q session, query string, id archive.ID) (Document, error) {
	row := q.row(ctx, query, id, a.tenant)
	var (
		d                         Document
		created                   int64
		archived                  sql.NullInt64
		keywords, metadata, types []byte
	)
	err := row.Scan(&d.ID, &d.Folder, &d.Name, &created, &archived, &d.Pages, &d.Size, &d.ContentType, &keywords,
		&metadata, &d.AutoExport, &d.Digest, &types, &d.Creator, &d.CreatorID, &d.ArchiverID, &d.ExternalID, &d.Source)
	if errors.Is(err, sql.ErrNoRows) {
		return Document{}, noDocument(id)
	}
	if err != nil {
		return Document{}, fmt.Errorf("read document: %w", err)
	}
	d.Created = time.Unix(created, 0)
	if archived.Valid {
		d.Archived = time.Unix(archived.Int64, 0)
	}
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

// keyValue is an entry of the metadata column; it is also the wire's form.
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
	if err != nil {
		return "", fmt.Errorf("encode column: %w", err)
	}
	return string(b), nil
}
