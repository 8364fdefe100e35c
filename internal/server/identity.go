package server

import (
	"slices"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// identity is who makes a request and what they may do, as the credentials tell. It is found
// out once, before anything else is done.
type identity struct {
	tenant store.TenantID
	key    int64  // 0 for that of the options
	user   string // empty without one
	userID int64  // 0 for one that the database does not have
	// limited says that only what scopes name may be done.
	limited bool
	scopes  []string
	// mandators are those that are there, nil for all.
	mandators []archive.ID
}

// may reports whether an operation that needs a scope may be done.
func (who identity) may(needed Scope) bool {
	return !who.limited || slices.Contains(who.scopes, string(needed))
}

// archiveOf is what somebody sees of what all tenants share.
func archiveOf(db database, who identity) catalog {
	whole := db.view(who)
	if who.mandators == nil {
		return whole
	}
	return &confined{whole: whole, mandators: who.mandators, user: who.userID}
}
