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

// SetSetting sets a setting.
func (a Archive) SetSetting(ctx context.Context, name, value string) error {
	err := a.write.change(ctx, func(tx changing) error {
		_, err := tx.exec(ctx, `INSERT INTO setting (tenant, name, value) VALUES (?, ?, ?)
		ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value`, a.tenant, name, value)
		return err
	})
	if err != nil {
		return fmt.Errorf("change setting %s: %w", name, err)
	}
	return nil
}

// FirstSetting sets a value unless one is set, and returns that which is: of all that do this
// with a name one value wins.
func (a Archive) FirstSetting(ctx context.Context, name, value string) (string, error) {
	err := a.write.change(ctx, func(tx changing) error {
		_, err := tx.exec(ctx, `INSERT INTO setting (tenant, name, value) VALUES (?, ?, ?)
		ON CONFLICT (tenant, name) DO NOTHING`, a.tenant, name, value)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("change setting %s: %w", name, err)
	}
	return a.Setting(ctx, name)
}
