package store

import (
	"context"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// AddBatch adds folders and then documents, in order, all or none, and returns the ids of
// the folders. An id of -n, as a folder's parent or a document's folder, stands for the
// n-th of the folders, counted from 1; a parent must come before what lies in it. Unlike
// those of AddDocuments the documents have nothing to do with each other.
func (a Archive) AddBatch(ctx context.Context, folders []Folder, documents []Document) (ids []archive.ID, err error) {
	real := func(id archive.ID) archive.ID {
		if n := -int(id); n > 0 && n <= len(ids) {
			return ids[n-1]
		}
		return id
	}
	err = a.write.change(ctx, func(tx changing) error {
		ids = make([]archive.ID, 0, len(folders))
		if err := a.lock(ctx, tx, fmt.Sprintf("batches of tenant %d", a.tenant)); err != nil {
			return err // two with the same folders in different order would wait for each other
		}
		for _, f := range folders {
			f.Parent = real(f.Parent)
			id, err := a.insertFolder(ctx, tx, f)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		for _, d := range documents {
			d.Folder = real(d.Folder)
			if _, err := a.insert(ctx, tx, d); err != nil {
				return err
			}
		}
		return nil
	})
	return ids, err
}

// NamedContent is what a document of a folder is called and holds.
type NamedContent struct {
	Name   string
	Digest string
	Size   int64
}

// Contents returns the names and contents of the documents directly in a folder, in no
// order.
func (a Archive) Contents(ctx context.Context, folder archive.ID) ([]NamedContent, error) {
	rows, err := a.read.query(ctx, "SELECT name, digest, size FROM document WHERE folder = ? AND +tenant = ?", folder, a.tenant)
	if err != nil {
		return nil, fmt.Errorf("list contents: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var contents []NamedContent
	for rows.Next() {
		var c NamedContent
		if err := rows.Scan(&c.Name, &c.Digest, &c.Size); err != nil {
			return nil, fmt.Errorf("list contents: %w", err)
		}
		contents = append(contents, c)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list contents: %w", err)
	}
	return contents, nil
}
