package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

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
