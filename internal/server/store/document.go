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

// Folder is a row of the folder table.
type Folder struct {
	ID     archive.ID
	Parent archive.ID // 0 for a mandator and for an inbox
	Name   string
	Inbox  bool  // an inbox, or in one
	UserID int64 // of an inbox
}

// what names the kind of a folder, for people.
func (f *Folder) what() string {
	switch {
	case f.Parent != 0:
		return "folder"
	case f.Inbox:
		return "inbox"
	}
	return "mandator"
}

// MaxDepth is how deep folders may be nested, counting the mandator or inbox: clients read no deeper structure.
const MaxDepth = 200

const folderColumns = "id, coalesce(parent, 0), name, inbox, coalesce(user_id, 0)"

// AddFolder makes a folder. Without a parent it is an inbox if f.Inbox is set, else a mandator. The error
// is KindConflict if a sibling has the name, KindNotFound for an unknown parent, and KindInvalid if it
// would be nested too deep.
func (a Archive) AddFolder(ctx context.Context, f Folder) (id archive.ID, err error) {
	err = a.change(ctx, func(e edit) (err error) {
		id, err = e.insertFolder(ctx, f)
		return err
	})
	return id, err
}

func (e edit) insertFolder(ctx context.Context, f Folder) (archive.ID, error) {
	if f.Parent != 0 {
		above, err := findLineage(ctx, e, e.tenant, f.Parent)
		if err != nil {
			return 0, err
		}
		if len(above) >= MaxDepth {
			return 0, refuse(archive.KindInvalid, "folders lie at most %d deep", MaxDepth)
		}
		f.Inbox = above[0].Inbox
	}
	var parent, user any
	switch {
	case f.Parent != 0:
		parent = f.Parent
	case f.Inbox:
		user = f.UserID
	}
	var id archive.ID
	err := e.row(ctx, "INSERT INTO folder (tenant, parent, name, folded, inbox, user_id) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
		e.tenant, parent, f.Name, fold(f.Name), f.Inbox, user).Scan(&id)
	if e.engine.taken(err) {
		return 0, refuse(archive.KindConflict, "the %s %q is there already", f.what(), f.Name)
	}
	if err != nil {
		return 0, fmt.Errorf("add folder: %w", err)
	}
	return id, e.record(ctx, Entry{Action: FolderCreated, Folder: id, Became: f.Name})
}

// Folder returns one folder. The error is KindNotFound if there is none.
func (a Archive) Folder(ctx context.Context, id archive.ID) (Folder, error) {
	return findFolder(ctx, a.read, a.tenant, id)
}

const selectFolder = "SELECT " + folderColumns + " FROM folder WHERE id = ? AND tenant = ?"

func findFolder(ctx context.Context, q session, tenant TenantID, id archive.ID) (Folder, error) {
	f, err := scanFolder(q.row(ctx, selectFolder, id, tenant))
	if errors.Is(err, sql.ErrNoRows) {
		return Folder{}, noFolder(id)
	}
	return f, err
}

// Child returns the folder of that name directly below parent, or the mandator of that name if parent is
// 0. The error is KindNotFound if there is none.
func (a Archive) Child(ctx context.Context, parent archive.ID, name string) (Folder, error) {
	query := "SELECT " + folderColumns + " FROM folder WHERE tenant = ? AND name = ? AND parent = ?"
	args := []any{a.tenant, name, parent}
	if parent == 0 {
		query = "SELECT " + folderColumns + " FROM folder WHERE tenant = ? AND name = ? AND NOT inbox AND parent IS NULL"
		args = args[:2]
	}
	f, err := scanFolder(a.read.row(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return Folder{}, refuse(archive.KindNotFound, "there is no %s %q", (&Folder{Parent: parent}).what(), name)
	}
	return f, err
}

// Lineage returns the folder and those above it, the root first.
func (a Archive) Lineage(ctx context.Context, id archive.ID) ([]Folder, error) {
	return findLineage(ctx, a.read, a.tenant, id)
}

const selectLineage = `WITH RECURSIVE up (id, depth) AS (
	SELECT id, 0 FROM folder WHERE id = ? AND tenant = ? UNION ALL
	SELECT folder.parent, depth + 1 FROM up JOIN folder USING (id) WHERE folder.parent IS NOT NULL)
	SELECT ` + folderColumns + ` FROM up JOIN folder USING (id) ORDER BY depth DESC`

func findLineage(ctx context.Context, q session, tenant TenantID, id archive.ID) ([]Folder, error) {
	folders, err := queryFolders(ctx, q, selectLineage, id, tenant)
	if err == nil && len(folders) == 0 {
		return nil, noFolder(id)
	}
	return folders, err
}

// Roots returns the mandators, or the inboxes, by ascending id.
func (a Archive) Roots(ctx context.Context, inboxes bool) ([]Folder, error) {
	return a.folders(ctx, "SELECT "+folderColumns+" FROM folder WHERE tenant = ? AND inbox = ? AND parent IS NULL ORDER BY id", a.tenant, inboxes)
}

// Tree returns all folders of the archive, or all of the inboxes, by ascending id.
func (a Archive) Tree(ctx context.Context, inboxes bool) ([]Folder, error) {
	return a.folders(ctx, "SELECT "+folderColumns+" FROM folder WHERE tenant = ? AND inbox = ? ORDER BY id", a.tenant, inboxes)
}

// Children returns the folders directly below parent by ascending id.
func (a Archive) Children(ctx context.Context, parent archive.ID) ([]Folder, error) {
	return a.folders(ctx, "SELECT "+folderColumns+" FROM folder WHERE parent = ? AND +tenant = ? ORDER BY id", parent, a.tenant)
}

// Below returns all folders at any depth below parent by ascending id.
func (a Archive) Below(ctx context.Context, parent archive.ID) ([]Folder, error) {
	const query = `WITH RECURSIVE down (id) AS (
		SELECT folder.id FROM folder WHERE folder.parent = ? AND +folder.tenant = ? UNION ALL
		SELECT folder.id FROM folder JOIN down ON folder.parent = down.id)
		SELECT ` + folderColumns + ` FROM down JOIN folder USING (id) ORDER BY id`
	return a.folders(ctx, query, parent, a.tenant)
}

// Empty reports whether there is no folder at all.
func (a Archive) Empty(ctx context.Context) (bool, error) {
	return single[bool](ctx, a.read, "look for folders", "SELECT NOT EXISTS (SELECT 1 FROM folder WHERE tenant = ?)", a.tenant)
}

func (a Archive) folders(ctx context.Context, query string, args ...any) ([]Folder, error) {
	return queryFolders(ctx, a.read, query, args...)
}

func queryFolders(ctx context.Context, q session, query string, args ...any) ([]Folder, error) {
	return collect(ctx, q, "list folders", scanFolder, query, args...)
}

func scanFolder(row scanner) (f Folder, err error) {
	err = row.Scan(&f.ID, &f.Parent, &f.Name, &f.Inbox, &f.UserID)
	return f, wrapped("read folder", err)
}
