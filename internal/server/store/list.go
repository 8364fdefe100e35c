package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Query selects the documents of a list.
type Query struct {
	Folder    archive.ID
	Recursive bool      // also those of the folders below
	From      time.Time // created at this second or later; zero for all
}

// Listed is a document in a list. Keywords (a JSON array of strings) and Metadata (a JSON array of
// {"key","value"}) are as stored.
type Listed struct {
	ID          archive.ID
	Folder      archive.ID
	Name        string
	Created     time.Time
	Archived    time.Time
	Pages       int
	Size        int64
	ContentType string
	Keywords    json.RawMessage
	Metadata    json.RawMessage
	AutoExport  bool
	ArchiverID  int64 // 0 without one
}

// The amount that is read from the database at a time: a slow reader of a long list holds no
// connection, and documents with much metadata do not fill the memory.
const (
	batch      = 1000    // documents
	batchBytes = 4 << 20 // of keywords and metadata; the last document may exceed it
)

// List calls each for the documents by ascending id. The ids are chosen when List begins; documents that
// are removed meanwhile are left out. The error for an unknown folder is KindNotFound, before each is
// called.
func (a Archive) List(ctx context.Context, q Query, each func(Listed) error) error {
	if _, err := a.Folder(ctx, q.Folder); err != nil {
		return err
	}
	ids, err := a.chosen(ctx, q)
	if err != nil {
		return err
	}
	return a.eachListed(ctx, ids, each)
}

// ListAutoExport calls each for the documents whose auto-export status is set, as List does.
func (a Archive) ListAutoExport(ctx context.Context, each func(Listed) error) error {
	ids, err := queryIDs(ctx, a.read, "SELECT id FROM document WHERE tenant = ? AND auto_export ORDER BY id", a.tenant)
	if err != nil {
		return err
	}
	return a.eachListed(ctx, ids, each)
}

func (a Archive) eachListed(ctx context.Context, ids []archive.ID, each func(Listed) error) error {
	for n := batch; len(ids) > 0; n = min(2*n, batch) {
		n = min(n, len(ids))
		documents, all, err := a.listed(ctx, ids[:n])
		if err != nil {
			return err
		}
		for _, d := range documents {
			if err := each(d); err != nil {
				return err
			}
		}
		if !all { // PostgreSQL sends all requested rows, so the next request is smaller
			n, _ = slices.BinarySearch(ids, documents[len(documents)-1].ID)
			n++
		}
		ids = ids[n:]
	}
	return nil
}

const (
	selectIDs = "SELECT id FROM document WHERE folder = ? AND created >= ? ORDER BY id"
	// The sum keeps SQLite from reading all documents in the order of their ids.
	selectIDsBelow = `SELECT id FROM document WHERE folder IN (WITH RECURSIVE down (id) AS (
		SELECT id FROM folder WHERE id = ? AND tenant = ?
		UNION ALL SELECT folder.id FROM folder JOIN down ON folder.parent = down.id)
		SELECT id FROM down) AND created >= ? ORDER BY id + 0`
)

// chosen reads only the index. The caller has checked that the folder is the tenant's; then so is
// everything in it.
func (a Archive) chosen(ctx context.Context, q Query) ([]archive.ID, error) {
	from := int64(-1 << 62)
	if !q.From.IsZero() {
		from = q.From.Unix()
	}
	if q.Recursive {
		return queryIDs(ctx, a.read, selectIDsBelow, q.Folder, a.tenant, from)
	}
	return queryIDs(ctx, a.read, selectIDs, q.Folder, from)
}

const selectListed = `SELECT id, folder, name, created, coalesce(archived, 0), pages, size, content_type,
	keywords, metadata, auto_export, archiver_id FROM document WHERE id IN (SELECT value FROM json_each(?)) AND +tenant = ? ORDER BY id`

// listed reads documents by ascending id, and reports whether that is all of them.
func (a Archive) listed(ctx context.Context, ids []archive.ID) (_ []Listed, all bool, err error) {
	wanted, err := encode(ids)
	if err != nil {
		return nil, false, err
	}
	rows, err := a.read.query(ctx, selectListed, wanted, a.tenant)
	if err != nil {
		return nil, false, fmt.Errorf("list documents: %w", err)
	}
	defer func() { _ = rows.Close() }()
	documents := make([]Listed, 0, len(ids))
	for left := batchBytes; rows.Next(); {
		if left < 0 {
			return documents, false, nil
		}
		var d Listed
		var created, archived int64
		if err := rows.Scan(&d.ID, &d.Folder, &d.Name, &created, &archived, &d.Pages, &d.Size, &d.ContentType,
			(*[]byte)(&d.Keywords), (*[]byte)(&d.Metadata), &d.AutoExport, &d.ArchiverID); err != nil {
			return nil, false, fmt.Errorf("list documents: %w", err)
		}
		left -= len(d.Keywords) + len(d.Metadata)
		d.Created = time.Unix(created, 0)
		if archived != 0 {
			d.Archived = time.Unix(archived, 0)
		}
		documents = append(documents, d)
	}
	if err := rows.Err(); err != nil {
		return nil, false, fmt.Errorf("list documents: %w", err)
	}
	return documents, true, nil
}

// NamedContent is the name and the content of a document.
type NamedContent struct {
	Name   string
	Digest string
	Size   int64
}

// Contents returns the names and contents of the documents directly in a folder, in no
// order.
func (a Archive) Contents(ctx context.Context, folder archive.ID) ([]NamedContent, error) {
	return collect(ctx, a.read, "list contents", func(row scanner) (c NamedContent, err error) {
		err = row.Scan(&c.Name, &c.Digest, &c.Size)
		return c, err
	}, "SELECT name, digest, size FROM document WHERE folder = ? AND +tenant = ?", folder, a.tenant)
}

func queryIDs(ctx context.Context, q session, query string, args ...any) ([]archive.ID, error) {
	return collect(ctx, q, "list documents", func(row scanner) (id archive.ID, err error) {
		err = row.Scan(&id)
		return id, err
	}, query, args...)
}
