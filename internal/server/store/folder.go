package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// Folder is a row of the folder table.
type Folder struct {
	ID     archive.ID
	Parent archive.ID // 0 for a mandator and for an inbox
	Name   string
	Inbox  bool  // it is an inbox or lies in one
	UserID int64 // of an inbox
}

const folderColumns = "id, coalesce(parent, 0), name, inbox, coalesce(user_id, 0)"

// AddFolder makes a folder. With a parent it lies in the archive or in an inbox as its
// parent does; without, it is an inbox when f.Inbox is set, else a mandator. A sibling of
// the same name is KindConflict, an unknown parent KindNotFound.
func (s *Store) AddFolder(ctx context.Context, f Folder) (archive.ID, error) {
	var id archive.ID
	err := s.write.change(ctx, func(tx session) (err error) {
		id, err = insertFolder(ctx, tx, f)
		return err
	})
	return id, err
}

func insertFolder(ctx context.Context, tx session, f Folder) (archive.ID, error) {
	if f.Parent != 0 {
		parent, err := folder(ctx, tx, f.Parent)
		if err != nil {
			return 0, err
		}
		f.Inbox = parent.Inbox
	}
	var user any
	if f.Inbox && f.Parent == 0 {
		user = f.UserID
	}
	var id archive.ID
	err := tx.row(ctx,
		"INSERT INTO folder (parent, name, inbox, user_id) VALUES (nullif(?, 0), ?, ?, ?) RETURNING id",
		f.Parent, f.Name, f.Inbox, user).Scan(&id)
	if taken(err) {
		return 0, refuse(archive.KindConflict, "there is a folder %q already", f.Name)
	}
	if err != nil {
		return 0, fmt.Errorf("add folder: %w", err)
	}
	return id, nil
}

// Folder returns one folder, KindNotFound when there is none of that id.
func (s *Store) Folder(ctx context.Context, id archive.ID) (Folder, error) {
	return folder(ctx, s.read, id)
}

const selectFolder = "SELECT " + folderColumns + " FROM folder WHERE id = ?"

func folder(ctx context.Context, q session, id archive.ID) (Folder, error) {
	f, err := scanFolder(q.row(ctx, selectFolder, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Folder{}, noFolder(id)
	}
	return f, err
}

// Child returns the archive folder of that name below parent; parent 0 looks among the
// mandators. It is KindNotFound when there is none.
func (s *Store) Child(ctx context.Context, parent archive.ID, name string) (Folder, error) {
	query := "SELECT " + folderColumns + " FROM folder WHERE name = ? AND parent = ?"
	args := []any{name, parent}
	if parent == 0 {
		query = "SELECT " + folderColumns + " FROM folder WHERE name = ? AND inbox = 0 AND parent IS NULL"
		args = args[:1]
	}
	f, err := scanFolder(s.read.row(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return Folder{}, refuse(archive.KindNotFound, "there is no folder %q", name)
	}
	return f, err
}

// Lineage returns the folder and those above it, the root first.
func (s *Store) Lineage(ctx context.Context, id archive.ID) ([]Folder, error) {
	const query = `WITH RECURSIVE up (id, depth) AS (
		SELECT ?, 0 UNION ALL
		SELECT folder.parent, depth + 1 FROM up JOIN folder USING (id) WHERE folder.parent IS NOT NULL)
		SELECT ` + folderColumns + ` FROM up JOIN folder USING (id) ORDER BY depth DESC`
	folders, err := s.folders(ctx, query, id)
	if err == nil && len(folders) == 0 {
		return nil, noFolder(id)
	}
	return folders, err
}

// Roots returns the mandators, or the inboxes, by ascending id.
func (s *Store) Roots(ctx context.Context, inboxes bool) ([]Folder, error) {
	return s.folders(ctx, "SELECT "+folderColumns+" FROM folder WHERE inbox = ? AND parent IS NULL ORDER BY id", inboxes)
}

// Tree returns all folders of the archive, or all of the inboxes, by ascending id.
func (s *Store) Tree(ctx context.Context, inboxes bool) ([]Folder, error) {
	return s.folders(ctx, "SELECT "+folderColumns+" FROM folder WHERE inbox = ? ORDER BY id", inboxes)
}

// Children returns the folders directly below parent by ascending id.
func (s *Store) Children(ctx context.Context, parent archive.ID) ([]Folder, error) {
	return s.folders(ctx, "SELECT "+folderColumns+" FROM folder WHERE parent = ? ORDER BY id", parent)
}

// Below returns all folders at any depth below parent by ascending id.
func (s *Store) Below(ctx context.Context, parent archive.ID) ([]Folder, error) {
	const query = `WITH RECURSIVE down (id) AS (
		SELECT folder.id FROM folder WHERE folder.parent = ? UNION ALL
		SELECT folder.id FROM folder JOIN down ON folder.parent = down.id)
		SELECT ` + folderColumns + ` FROM down JOIN folder USING (id) ORDER BY id`
	return s.folders(ctx, query, parent)
}

// Empty reports whether there is no folder at all.
func (s *Store) Empty(ctx context.Context) (bool, error) {
	var some bool
	if err := s.read.row(ctx, "SELECT EXISTS (SELECT 1 FROM folder)").Scan(&some); err != nil {
		return false, fmt.Errorf("look for folders: %w", err)
	}
	return !some, nil
}

func (s *Store) folders(ctx context.Context, query string, args ...any) ([]Folder, error) {
	rows, err := s.read.query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list folders: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var folders []Folder
	for rows.Next() {
		f, err := scanFolder(rows)
		if err != nil {
			return nil, err
		}
		folders = append(folders, f)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list folders: %w", err)
	}
	return folders, nil
}

type scanner interface{ Scan(dest ...any) error }

func scanFolder(row scanner) (Folder, error) {
	var f Folder
	if err := row.Scan(&f.ID, &f.Parent, &f.Name, &f.Inbox, &f.UserID); err != nil {
		return Folder{}, fmt.Errorf("read folder: %w", err)
	}
	return f, nil
}
