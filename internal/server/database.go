package server

import (
	"context"

	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/generated"
	"github.com/archivefs/archivefs/internal/server/store"
)

// database is what all tenants share. Contents and what is made of them are shared, too:
// they are found by digest, which no client is ever asked for.
type database interface {
	view(tenant store.TenantID, user string) catalog.Catalog
	uses
	renditions
	Close() error
}

// several is a database with a catalog for each tenant.
type several struct {
	*store.Store
	*store.Uses
}

func newSeveral(db *store.Store) several { return several{db, db.Uses} }

func (s several) view(tenant store.TenantID, user string) catalog.Catalog {
	return s.Tenant(tenant).By(user)
}

// single is a database of one archive, which every tenant sees.
type single struct{ *generated.Archive }

func (s single) view(store.TenantID, string) catalog.Catalog { return s.Archive }

// archiveOf is what somebody sees of what all tenants share.
func archiveOf(db database, who identity) catalog.Catalog {
	whole := db.view(who.tenant, who.user)
	if who.mandators == nil {
		return whole
	}
	return catalog.Confine(whole, who.mandators, who.userID)
}

// uses knows what contents are used, and keeps those apart who refer to a content and who
// remove it.
type uses interface {
	Keep(ctx context.Context, k store.Keeping) error
	Drop(ctx context.Context, digest string, remove func(ctx context.Context, digest string) error) error
}

// renditions knows the PDFs made of contents.
type renditions interface {
	Rendition(ctx context.Context, source, variant string) (string, error)
	AddRendition(ctx context.Context, source, variant, digest string) error
}
