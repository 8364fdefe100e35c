package store

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	batch = 1000    // documents
	slim  = 4 << 10 // bytes of keywords and metadata; a document that has more is read alone
)

// List calls each for the documents by ascending id. The ids are chosen when List begins; documents that are removed
// meanwhile are left out. The error for an unknown folder is KindNotFound, before each is called.
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
	for some := range slices.Chunk(ids, batch) {
		lines, err := a.listed(ctx, slim, some...)
		for i := 0; i < len(some) && err == nil; i++ {
			var d Listed
			if d, lines, err = a.next(ctx, lines, some[i]); err == nil && d.ID != 0 {
				err = each(d)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// next returns a document, and the lines after it if the first one is its own. Else it is too large for
// them, or was removed; then it is the zero Listed.
func (a Archive) next(ctx context.Context, lines string, id archive.ID) (d Listed, rest string, err error) {
	if d, rest, err = listedOf(lines); err != nil || d.ID == id {
		return d, rest, err
	}
	line, err := a.listed(ctx, math.MaxInt32, id)
	if err == nil {
		d, _, err = listedOf(line)
	}
	return d, lines, err
}

const (
	selectIDs = "SELECT id FROM document WHERE folder = ? AND created >= ? ORDER BY id"
	// The sum keeps SQLite from reading all documents in the order of their ids.
	selectIDsBelow = `SELECT id FROM document WHERE folder IN (WITH RECURSIVE down (id) AS (
		SELECT id FROM folder WHERE id = ? AND tenant = ?
		UNION ALL SELECT folder.id FROM folder JOIN down ON folder.parent = down.id)
		SELECT id FROM down) AND created >= ? ORDER BY id + 0`
)

// chosen reads only the index. The caller has checked that the folder is the tenant's; then so is everything in it.
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

// selectListed selects documents as one text, with a line for each (listedOf): handing over a row or a
// column costs more than formatting it.
const selectListed = `SELECT coalesce(string_agg(line, ''), '') FROM (
	SELECT format('%d %d %d %d %d %d %d %d %d %d %d %s%s%s%s` + "\n" + `', id, folder, created, coalesce(archived, 0), pages, size,
		CASE WHEN auto_export THEN 1 ELSE 0 END, archiver_id, octet_length(name), octet_length(content_type), octet_length(keywords),
		name, content_type, keywords, metadata) AS line FROM document
	WHERE id IN (SELECT value FROM json_each(?)) AND +tenant = ? AND octet_length(keywords) + octet_length(metadata) <= ? ORDER BY id) AS lines`

// listedOf reads the first line of selectListed: numbers, of which the last three are the lengths in bytes
// of the first three texts after them. The last text, as any JSON here, has no line break. Without a line
// it returns the zero Listed.
func listedOf(lines string) (d Listed, rest string, err error) {
	if lines == "" {
		return d, "", nil
	}
	var numbers [11]int64
	for i := range numbers {
		var number string
		number, lines, _ = strings.Cut(lines, " ")
		if numbers[i], err = strconv.ParseInt(number, 10, 64); err != nil {
			return d, "", fmt.Errorf("list documents: %w", err)
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
		if n < 0 || n > int64(len(lines)) {
			return d, "", fmt.Errorf("list documents: a text of %d bytes in %d", n, len(lines))
		}
		*text, lines = lines[:n], lines[n:]
	}
	var whole bool
	if d.Metadata, rest, whole = strings.Cut(lines, "\n"); !whole {
		return d, "", errors.New("list documents: a line has no end")
	}
	return d, rest, nil
}

// listed reads documents by ascending id, except those that have more than most bytes of keywords and metadata.
func (a Archive) listed(ctx context.Context, most int, ids ...archive.ID) (lines string, err error) {
	wanted, err := encode(ids)
	if err == nil {
		err = a.read.row(ctx, selectListed, wanted, a.tenant, most).Scan(&lines)
	}
	return lines, wrapped("list documents", err)
}

// inOneText selects the ids of a query as one text: handing over a row costs more than formatting it.
func inOneText(query string) string {
	return "SELECT coalesce(string_agg(CAST(id AS TEXT), ','), '') FROM (" + query + ") AS found"
}

func queryIDs(ctx context.Context, q session, query string, args ...any) ([]archive.ID, error) {
	text, err := single[string](ctx, q, "list documents", inOneText(query), args...)
	if err != nil {
		return nil, err
	}
	ids := make([]archive.ID, 0, strings.Count(text, ",")+1)
	for text != "" {
		var number string
		number, text, _ = strings.Cut(text, ",")
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("list documents: %w", err)
		}
		ids = append(ids, archive.ID(id))
	}
	return ids, nil
}
