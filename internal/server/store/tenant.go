package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// TenantID names a tenant within this database. It is never told to clients.
type TenantID int64

// DefaultTenant is the tenant of a database of one archive. It is there from the beginning.
const DefaultTenant TenantID = 1

// Tenant is one of those whose archives lie in the database.
type Tenant struct {
	ID      TenantID
	CloudID string // empty for the default one
	Name    string // for people; may be empty
}

// AddTenant adds a tenant that clients name by its cloud id. One that is taken is
// KindConflict.
func (s *Store) AddTenant(ctx context.Context, cloudID, name string) (TenantID, error) {
	var id TenantID
	err := s.write.change(ctx, func(tx changing) error {
		return tx.row(ctx, "INSERT INTO tenant (cloud_id, name) VALUES (?, ?) RETURNING id", cloudID, name).Scan(&id)
	})
	if s.taken(err) {
		return 0, refuse(archive.KindConflict, "there is a tenant of this cloud id already")
	}
	if err != nil {
		return 0, fmt.Errorf("add tenant: %w", err)
	}
	return id, nil
}

// Tenants returns all tenants, the default one first.
func (s *Store) Tenants(ctx context.Context) ([]Tenant, error) {
	return collect(ctx, s.read, func(row scanner) (t Tenant, err error) {
		if err := row.Scan(&t.ID, &t.CloudID, &t.Name); err != nil {
			return t, fmt.Errorf("read tenant: %w", err)
		}
		return t, nil
	}, "SELECT id, coalesce(cloud_id, ''), name FROM tenant ORDER BY id")
}

// FindTenant returns the tenant of a cloud id, KindNotFound when there is none.
func (s *Store) FindTenant(ctx context.Context, cloudID string) (TenantID, error) {
	var id TenantID
	err := s.read.row(ctx, "SELECT id FROM tenant WHERE cloud_id = ?", cloudID).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, refuse(archive.KindNotFound, "there is no tenant of this cloud id")
	}
	if err != nil {
		return 0, fmt.Errorf("find tenant: %w", err)
	}
	return id, nil
}

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
