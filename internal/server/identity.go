package server

import (
	"context"
	"slices"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// identity is who makes a request and what they may do, as the credentials tell. It is found
// out once, before anything else is done, and goes with the request's context.
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

// identityKey finds the identity in a context.
type identityKey struct{}

func withIdentity(ctx context.Context, who identity) context.Context {
	return context.WithValue(ctx, identityKey{}, who)
}

// identityOf returns who makes a request. What the program does by itself, with a context
// that no request has made, it does for the default tenant.
func identityOf(ctx context.Context) identity {
	if who, ok := ctx.Value(identityKey{}).(identity); ok {
		return who
	}
	return identity{tenant: store.DefaultTenant}
}

// catalog is the archive of the tenant for whom something is done: of no other, and of no
// mandator that the credentials leave out, a handler can see or change anything. Changes are
// recorded as the user's.
func (s *Server) catalog(ctx context.Context) catalog {
	who := identityOf(ctx)
	whole := s.db.view(who)
	if who.mandators == nil {
		return whole
	}
	return &confined{whole: whole, mandators: who.mandators, user: who.userID}
}
