package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
// {"key","value"}) are as stored. Its texts share memory.
type Listed struct {
	ID          archive.ID
	Folder      archive.ID
	Name        string
	Created     time.Time
	Archived    time.Time
	Pages       int
	Size        int64
	ContentType string
	Keywords    string
	Metadata    string
	AutoExport  bool
	ArchiverID  int64 // 0 without one
}

// The amount that is read from the database at a time: a slow reader of a long list holds no
// connection, and documents with much metadata do not fill the memory.
const (
	batch      = 1000    // documents
	batchBytes = 4 << 20 // the last document may exceed it
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
		rows, all, err := a.listed(ctx, ids[:n])
		if err != nil {
			return err
		}
		var last archive.ID
		for _, row := range rows {
			d, err := listedOf(row)
			if err != nil {
				return fmt.Errorf("list documents: %w", err)
			}
			if err := each(d); err != nil {
				return err
			}
			last = d.ID
		}
		if !all { // PostgreSQL sends all requested rows, so the next request is smaller
			n, _ = slices.BinarySearch(ids, last)
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

// selectListed selects each document as one text (listedOf): handing over a column costs more than
// formatting it.
const selectListed = `SELECT format('%d %d %d %d %d %d %d %d %d %d %d %s%s%s%s', id, folder, created, coalesce(archived, 0), pages, size,
	CASE WHEN auto_export THEN 1 ELSE 0 END, archiver_id, octet_length(name), octet_length(content_type), octet_length(keywords),
	name, content_type, keywords, metadata) FROM document WHERE id IN (SELECT value FROM json_each(?)) AND +tenant = ? ORDER BY id`

// listedOf reads a row of selectListed: numbers, of which the last three are the lengths in bytes of the
// first three texts after them.
func listedOf(row string) (d Listed, err error) {
	var numbers [11]int64
	for i := range numbers {
		var number string
		number, row, _ = strings.Cut(row, " ")
		if numbers[i], err = strconv.ParseInt(number, 10, 64); err != nil {
			return d, err
		}
	}
	d.ID, d.Folder, d.Pages, d.Size = archive.ID(numbers[0]), archive.ID(numbers[1]), int(numbers[4]), numbers[5]
	d.Created = time.Unix(numbers[2], 0)
	if numbers[3] != 0 {
		d.Archived = time.Unix(numbers[3], 0)
	}
	d.AutoExport, d.ArchiverID = numbers[6] != 0, numbers[7]
	for i, text := range [...]*string{&d.Name, &d.ContentType, &d.Keywords} {
		n := numbers[8+i]
		if n < 0 || n > int64(len(row)) {
			return d, fmt.Errorf("a text of %d bytes in %d", n, len(row))
		}
		*text, row = row[:n], row[n:]
	}
	d.Metadata = row
	return d, nil
}

// listed reads rows of documents by ascending id, and reports whether that is all of them.
func (a Archive) listed(ctx context.Context, ids []archive.ID) (found []string, all bool, err error) {
	wanted, err := encode(ids)
	if err != nil {
		return nil, false, err
	}
	rows, err := a.read.query(ctx, selectListed, wanted, a.tenant)
	if err != nil {
		return nil, false, fmt.Errorf("list documents: %w", err)
	}
	defer func() { _ = rows.Close() }()
	found = make([]string, 0, len(ids))
	var row string
	into := []any{&row}
	for left := batchBytes; rows.Next(); left -= len(row) {
		if left < 0 {
			return found, false, nil
		}
		if err := rows.Scan(into...); err != nil {
			return nil, false, fmt.Errorf("list documents: %w", err)
		}
		found = append(found, row)
	}
	if err := rows.Err(); err != nil {
		return nil, false, fmt.Errorf("list documents: %w", err)
	}
	return found, true, nil
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

// queryIDs reads the ids that a query selects. Scan would convert each by reflection to another type
// than any.
func queryIDs(ctx context.Context, q session, query string, args ...any) ([]archive.ID, error) {
	ids := []archive.ID{}
	var id any
	into := []any{&id}
	err := eachRow(ctx, q, "list documents", func(row scanner) error {
		if err := row.Scan(into...); err != nil {
			return err
		}
		ids = append(ids, archive.ID(id.(int64))) //nolint:forcetypeassert // a column of integers
		return nil
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return ids, nil
}
