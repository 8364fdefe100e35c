package store

import "context"

// Trail returns the changes of the tenant's archive after an entry, in order; after 0 from the
// first one on.
func (a Archive) Trail(ctx context.Context, after int64, limit int) ([]Entry, error) {
	return a.entries(ctx, "SELECT "+entryColumns+" FROM audit WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?", a.tenant, after, limit)
}
