package store

import "context"

// Trail returns the changes of the tenant's archive after an entry, in order; after 0 from the
// first one on.
func (a Archive) Trail(ctx context.Context, after int64, limit int) ([]Entry, error) {
	return a.entries(ctx, "SELECT "+entryColumns+" FROM audit WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?", a.tenant, after, limit)
}

// SetSetting sets a setting, whatever it is.
func (a Archive) SetSetting(ctx context.Context, name, value string) error {
	return a.change(ctx, func(e edit) error {
		_, err := e.exec(ctx, `INSERT INTO setting (tenant, name, value) VALUES (?, ?, ?)
		ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value`, e.tenant, name, value)
		return err
	})
}

// ListedOf reads the first line of a list.
func ListedOf(lines string) (Listed, string, error) { return listedOf(lines) }
