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
// Its queries name the tenant, also where the foreign keys leave no other one. A + before
// the column says that the other conditions find fewer rows than the index of tenants would.
type Archive struct {
	*database
	tenant TenantID
	user   string
}

// Tenant returns the view of a tenant. That of one that is not there is empty, and takes nothing.
func (s *Store) Tenant(id TenantID) Archive { return Archive{database: s.database, tenant: id} }

// By returns the same view for a user, as whose work changes are recorded.
func (a Archive) By(user string) Archive {
	a.user = user
	return a
}

// edit is a change of an archive that is being made: one transaction.
type edit struct {
	changing
	engine engine
	tenant TenantID
	user   string
}

// change makes a change, in a transaction of its own unless the context has one.
func (a Archive) change(ctx context.Context, do func(e edit) error) error {
	return a.write.change(ctx, func(tx changing) error { return do(edit{tx, a.engine, a.tenant, a.user}) })
}

const selectPerson = `SELECT coalesce((SELECT id FROM account WHERE tenant = ?1 AND name = ?2),
	(SELECT user_id FROM folder WHERE tenant = ?1 AND inbox AND parent IS NULL AND name = ?2), 0)`

// person returns the number of who has a name: that of the user, else of whom the inbox of this name belongs to,
// else 0.
func (e edit) person(ctx context.Context, name string) (id int64, err error) {
	if name == "" {
		return 0, nil
	}
	if err := e.row(ctx, selectPerson, e.tenant, name).Scan(&id); err != nil {
		return 0, fmt.Errorf("look for a user: %w", err)
	}
	return id, nil
}

// SettingID is the setting of the default tenant that names the archive, so that contents can
// be known to be its own. It is set where several services share them.
const SettingID = "archive-id"

// NewID makes a name for an archive that no other has.
func NewID() (string, error) {
	made, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("name archive: %w", err)
	}
	return made.String(), nil
}

// Setting returns a setting's value, empty when it was never set.
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
