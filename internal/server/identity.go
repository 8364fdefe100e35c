package server

import (
	"context"

	"github.com/archivefs/archivefs/internal/server/store"
)

// identity is who makes a request, as its credentials tell. It is found out once, before
// anything else is done, and goes with the request's context.
type identity struct {
	tenant store.TenantID
	user   string // empty without one
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

// catalog is the archive of the tenant for whom something is done: of no other a handler
// can see or change anything. Changes are recorded as the user's.
func (s *Server) catalog(ctx context.Context) catalog { return s.db.view(identityOf(ctx)) }
