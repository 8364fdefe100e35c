package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// AddDocuments adds the documents of one upload, in order, all or none, and returns
// their ids. When reuse is set and the first one's folder has a document of the same
// external id that came from the same content, that one's id is returned instead and
// nothing is added. An inbox has also what was archived from it: who repeats an upload because the answer
// was lost does not know of that.
func (a Archive) AddDocuments(ctx context.Context, documents []Document, reuse bool) (ids []archive.ID, err error) {
	err = a.write.change(ctx, func(tx changing) error {
		ids = nil
		if reuse {
			id, err := a.known(ctx, tx, documents[0])
			if err != nil {
				return err
			}
			if id != 0 {
				ids = []archive.ID{id}
				return nil
			}
		}
		for _, d := range documents {
			id, err := a.insert(ctx, tx, d)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return group(ctx, tx, ids)
	})
	return ids, err
}

const selectKnown = `SELECT id FROM document
	WHERE external_id = ? AND folder = ? AND +tenant = ? AND coalesce(source, digest) = ? ORDER BY id LIMIT 1`

// selectLeft finds a document by its content: there may be many of an external id, in whatever folders.
const selectLeft = `SELECT document.id FROM document JOIN audit ON audit.document = document.id
	WHERE digest = ? AND external_id || '' = ? AND +document.tenant = ? AND coalesce(source, digest) = ?
	AND audit.folder = ? AND action = 'archive' ORDER BY document.id LIMIT 1`

// known returns the document that an upload with the same external id made of the same
// content in the same folder, 0 when there is none.
func (a Archive) known(ctx context.Context, tx changing, d Document) (archive.ID, error) {
	source := cmp.Or(d.Source, d.Digest)
	if err := a.lock(ctx, tx, fmt.Sprintf("external id %d %s", d.Folder, d.ExternalID)); err != nil {
		return 0, fmt.Errorf("lock external id: %w", err)
	}
	var id archive.ID
	err := tx.row(ctx, selectKnown, d.ExternalID, d.Folder, a.tenant, source).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) && d.Archived.IsZero() {
		err = tx.row(ctx, selectLeft, d.Digest, d.ExternalID, a.tenant, source, d.Folder).Scan(&id)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for external id: %w", err)
	}
	return id, nil
}

const insertDocument = `INSERT INTO document (tenant, folder, name, created, archived, pages, size, content_type,
	keywords, metadata, auto_export, digest, types, creator, creator_id, archiver_id, external_id, source, said, pairs)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`

func (a Archive) insert(ctx context.Context, tx changing, d Document) (archive.ID, error) {
	in, err := a.folder(ctx, tx, d.Folder)
	if err != nil {
		return 0, err
	}
	if in.Inbox != d.Archived.IsZero() {
		return 0, refuse(archive.KindConflict, "documents have an archiving date in folders, and none in inboxes")
	}
	keywords, err1 := encodeStrings(d.Keywords)
	types, err2 := encodeStrings(d.Types)
	metadata, err3 := encodeMetadata(d.Metadata)
	if err := errors.Join(err1, err2, err3); err != nil {
		return 0, err
	}
	if d.CreatorID, err = a.person(ctx, tx, d.Creator); err != nil {
		return 0, err
	}
	if d.ArchiverID = 0; !d.Archived.IsZero() {
		if d.ArchiverID, err = a.person(ctx, tx, a.user); err != nil {
			return 0, err
		}
	}
	var id archive.ID
	err = tx.row(ctx, insertDocument,
		a.tenant, d.Folder, d.Name, d.Created.Unix(), seconds(d.Archived), d.Pages, d.Size, d.ContentType,
		keywords, metadata, d.AutoExport, d.Digest, types, d.Creator, d.CreatorID, d.ArchiverID, optional(d.ExternalID), optional(d.Source), said(d), pairs(d)).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("add document: %w", err)
	}
	return id, a.annotate(ctx, tx, id, d)
}

func (a Archive) annotate(ctx context.Context, tx changing, id archive.ID, d Document) error {
	add := func(kind, title, text, date, creator, foldedTitle string) error {
		by, err := a.person(ctx, tx, creator)
		if err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `INSERT INTO annotation (document, page, kind, title, text, date, creator, creator_id, folded_title, folded_text)
			VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?)`, id, kind, title, text, date, creator, by, foldedTitle, fold(text)); err != nil {
			return fmt.Errorf("add %s: %w", kind, err)
		}
		return nil
	}
	for _, n := range d.Notes {
		if err := add("note", "", n.Text, n.Date, n.Creator, ""); err != nil {
			return err
		}
	}
	for _, n := range d.Stamps {
		if err := add("stamp", n.Title, n.Text, n.Date, n.Creator, fold(n.Title)); err != nil {
			return err
		}
	}
	return nil
}

// group marks several documents as made by one upload; the first one's id names it.
func group(ctx context.Context, tx changing, ids []archive.ID) error {
	if len(ids) < 2 {
		return nil
	}
	for _, id := range ids {
		if _, err := tx.exec(ctx, "UPDATE document SET upload = ? WHERE id = ?", ids[0], id); err != nil {
			return fmt.Errorf("group upload: %w", err)
		}
	}
	return nil
}

// UploadedWith returns the ids of the documents that the same upload made, by ascending
// id and without the one asked for. Archiving does not separate them.
func (a Archive) UploadedWith(ctx context.Context, id archive.ID) ([]archive.ID, error) {
	if _, err := a.Document(ctx, id); err != nil {
		return nil, err
	}
	ids, err := queryIDs(ctx, a.read, `SELECT id FROM document WHERE id != ?1 AND +tenant = ?2 AND upload =
		(SELECT upload FROM document WHERE id = ?1)`, id, a.tenant)
	slices.Sort(ids)
	return ids, err
}

func queryIDs(ctx context.Context, q session, query string, args ...any) ([]archive.ID, error) {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list documents: %w", err)
	}
	defer func() { _ = rows.Close() }()
	ids := []archive.ID{}
	for rows.Next() {
		var id archive.ID
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("list documents: %w", err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list documents: %w", err)
	}
	return ids, nil
}

// optional is the column value of a text, null for the empty one.
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// seconds is the column value of a time, null for the zero one.
func seconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}
