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
