package store

import (
	"context"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// Content describes new content of a document.
type Content struct {
	Digest      string
	Size        int64
	ContentType string
	Pages       int
	Keywords    []string // nil to leave the keywords alone
}

// ReplaceContent gives an inbox document new content and returns the digest of the old
// one. A document that is archived is KindForbidden.
func (a Archive) ReplaceContent(ctx context.Context, id archive.ID, c Content) (old string, err error) {
	err = a.write.change(ctx, func(tx changing) error {
		d, err := a.inboxDocument(ctx, tx, id, archive.KindForbidden)
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, "UPDATE document SET digest = ?, source = NULL, size = ?, content_type = ?, pages = ? WHERE id = ?",
			c.Digest, c.Size, c.ContentType, c.Pages, id)
		if err != nil {
			return fmt.Errorf("replace content: %w", err)
		}
		old = d.Digest
		err = a.record(ctx, tx, Entry{Action: ContentReplaced, Document: id, Was: d.Digest, Became: c.Digest})
		if err != nil || c.Keywords == nil {
			return err
		}
		before := d
		d.Keywords = c.Keywords
		return a.describe(ctx, tx, before, d)
	})
	return old, err
}

// DeleteDocument removes an inbox document and returns the digest of its content. A
// document that is archived is KindForbidden.
func (a Archive) DeleteDocument(ctx context.Context, id archive.ID) (digest string, err error) {
	err = a.write.change(ctx, func(tx changing) error {
		d, err := a.inboxDocument(ctx, tx, id, archive.KindForbidden)
		if err != nil {
			return err
		}
		digest = d.Digest
		was, err := a.place(ctx, tx, d.Folder, d.Name)
		if err != nil {
			return err
		}
		if err := remove(ctx, tx, id); err != nil {
			return err
		}
		return a.record(ctx, tx, Entry{Action: DocumentRemoved, Document: id, Was: was + " " + digest})
	})
	return digest, err
}

// inboxDocument returns a document that lies in an inbox; of one that is archived it
// says so with the given kind.
func (a Archive) inboxDocument(ctx context.Context, tx changing, id archive.ID, kind archive.Kind) (Document, error) {
	d, err := a.document(ctx, tx, changeDocument, id)
	if err != nil {
		return Document{}, err
	}
	in, err := a.folder(ctx, tx, d.Folder)
	if err != nil {
		return Document{}, err
	}
	if !in.Inbox {
		return Document{}, refuse(kind, "document %d is archived already", id)
	}
	return d, nil
}

func remove(ctx context.Context, tx changing, id archive.ID) error {
	if _, err := tx.exec(ctx, "DELETE FROM document WHERE id = ?", id); err != nil {
		return fmt.Errorf("remove document: %w", err)
	}
	return nil
}
