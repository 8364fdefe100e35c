package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Archive is the database as one tenant sees it: folders, documents and settings of others
// are KindNotFound, or not listed, whatever their ids. It is only a view and needs no Close.
//
// Its queries always name the tenant, even if the foreign keys imply it. A + before the column keeps
// the query planner from the index of tenants, because the other conditions find fewer rows.
type Archive struct {
	*database
	tenant TenantID
	user   string
}

// Tenant returns the view of a tenant. The view of an unknown one is empty and cannot be added to.
func (s *Store) Tenant(id TenantID) Archive { return Archive{database: s.database, tenant: id} }

// By returns the same view for a user. Changes are recorded as the user's.
func (a Archive) By(user string) Archive {
	a.user = user
	return a
}

// In returns the same view for what belongs to s.
func (a Archive) In(s Scope) Archive {
	a.database = a.database.in(s)
	return a
}

// edit is a transaction that changes an archive.
type edit struct {
	changing
	engine engine
	tenant TenantID
	user   string
}

// change makes a change, in the transaction of its scope if there is one, else in its own.
func (a Archive) change(ctx context.Context, do func(e edit) error) error {
	return a.write.change(ctx, func(tx changing) error { return do(edit{tx, a.engine, a.tenant, a.user}) })
}

const selectPerson = `SELECT coalesce((SELECT id FROM account WHERE tenant = ?1 AND name = ?2),
	(SELECT user_id FROM folder WHERE tenant = ?1 AND inbox AND parent IS NULL AND name = ?2), 0)`

// person returns the id of the user of a name, else the user id of the inbox of that name, else 0.
func (e edit) person(ctx context.Context, name string) (id int64, err error) {
	if name == "" {
		return 0, nil
	}
	if err := e.row(ctx, selectPerson, e.tenant, name).Scan(&id); err != nil {
		return 0, fmt.Errorf("look for a user: %w", err)
	}
	return id, nil
}

// SettingID is the setting of the default tenant with the id of the archive, by which its contents are
// claimed. It is set if services share the archive.
const SettingID = "archive-id"

// NewID makes a unique id for an archive.
func NewID() (string, error) {
	made, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("make archive id: %w", err)
	}
	return made.String(), nil
}

// Setting returns a setting's value, empty if it was never set.
func (a Archive) Setting(ctx context.Context, name string) (string, error) {
	var value string
	err := a.read.row(ctx, "SELECT value FROM setting WHERE tenant = ? AND name = ?", a.tenant, name).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read setting %s: %w", name, err)
	}
	return value, nil
}

// FirstSetting sets a value unless one is set, and returns that which is: of all that do this
// with a name one value wins.
func (a Archive) FirstSetting(ctx context.Context, name, value string) (string, error) {
	err := a.change(ctx, func(e edit) error {
		_, err := e.exec(ctx, `INSERT INTO setting (tenant, name, value) VALUES (?, ?, ?)
		ON CONFLICT (tenant, name) DO NOTHING`, e.tenant, name, value)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("change setting %s: %w", name, err)
	}
	return a.Setting(ctx, name)
}
