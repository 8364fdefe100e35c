package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Setting returns a setting's value, empty when it was never set.
func (s *Store) Setting(ctx context.Context, name string) (string, error) {
	var value string
	err := s.read.row(ctx, "SELECT value FROM setting WHERE name = ?", name).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read setting %s: %w", name, err)
	}
	return value, nil
}

// SetSetting sets a setting.
func (s *Store) SetSetting(ctx context.Context, name, value string) error {
	_, err := s.write.exec(ctx, "INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)", name, value)
	if err != nil {
		return fmt.Errorf("change setting %s: %w", name, err)
	}
	return nil
}
