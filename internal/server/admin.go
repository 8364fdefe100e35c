package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/datalock"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Admin manages an archive by its database alone: what holds the documents is left to the
// service, which may be at work meanwhile and sees what is changed here at once, of keys and
// users within seconds. Its methods are about one tenant, but for those about tenants.
type Admin struct {
	db     *store.Store
	tenant store.TenantID
}

// Place is where an archive is.
type Place struct {
	Data     string // its directory
	Database string // address of a PostgreSQL database; empty for the one in the directory
	// CloudID names a tenant; empty for the default one.
	CloudID string
}

// OpenAdmin opens an archive. In a directory it must be there already.
func OpenAdmin(ctx context.Context, at Place) (*Admin, error) {
	db, err := at.open(ctx)
	if err != nil {
		return nil, err
	}
	a := &Admin{db: db, tenant: store.DefaultTenant}
	if at.CloudID != "" {
		if a.tenant, err = db.FindTenant(ctx, at.CloudID); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return a, nil
}

func (at Place) open(ctx context.Context) (*store.Store, error) {
	if at.Database != "" {
		return store.OpenPostgres(ctx, at.Database)
	}
	file := databaseFile(at.Data)
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		if err := datalock.WantWhole(at.Data); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("there is no archive in %s; archivefs serve --data makes one", at.Data)
	}
	return openBeside(ctx, at.Data, file)
}

// openBeside opens a database that a service may have open. It is brought to the current
// format only where none has.
func openBeside(ctx context.Context, dir, file string) (*store.Store, error) {
	lock, err := datalock.Take(dir)
	if used := new(datalock.InUseError); errors.As(err, &used) {
		return store.OpenBeside(ctx, file)
	}
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, file)
	if released := lock.Release(!lock.Interrupted); released != nil && err == nil {
		return nil, errors.Join(released, db.Close())
	}
	return db, err
}

// Close closes the database.
func (a *Admin) Close() error { return a.db.Close() }

func (a *Admin) archive() store.Archive { return a.db.Tenant(a.tenant) }

// Tenant is one whose archive is kept apart from others. The default one has no CloudID.
type Tenant struct {
	ID      int64
	CloudID string
	Name    string
}

// Tenants returns all tenants, the default one first.
func (a *Admin) Tenants(ctx context.Context) ([]Tenant, error) {
	found, err := a.db.Tenants(ctx)
	tenants := make([]Tenant, 0, len(found))
	for _, t := range found {
		tenants = append(tenants, Tenant{ID: int64(t.ID), CloudID: t.CloudID, Name: t.Name})
	}
	return tenants, err
}

// AddTenant adds a tenant. A cloud id that is taken is KindConflict, one that no header can
// carry KindInvalid.
func (a *Admin) AddTenant(ctx context.Context, cloudID, name string) (int64, error) {
	if cloudID == "" || strings.ContainsFunc(cloudID, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return 0, refuse(archive.KindInvalid, "a Cloud-ID consists of printable ASCII characters without blanks")
	}
	id, err := a.db.AddTenant(ctx, cloudID, name)
	return int64(id), err
}

// Root is a mandator or an inbox.
type Root struct {
	ID     archive.ID
	Name   string
	UserID int64  // of an inbox
	User   string // empty where there is none of that id
}

// Mandators returns all mandators.
func (a *Admin) Mandators(ctx context.Context) ([]Root, error) { return a.roots(ctx, false) }

// Inboxes returns all inboxes.
func (a *Admin) Inboxes(ctx context.Context) ([]Root, error) { return a.roots(ctx, true) }

func (a *Admin) roots(ctx context.Context, inboxes bool) ([]Root, error) {
	folders, err := a.archive().Roots(ctx, inboxes)
	if err != nil {
		return nil, err
	}
	users, err := a.archive().Accounts(ctx)
	if err != nil {
		return nil, err
	}
	names := map[int64]string{}
	for _, user := range users {
		names[user.ID] = user.Name
	}
	roots := make([]Root, 0, len(folders))
	for _, f := range folders {
		roots = append(roots, Root{ID: f.ID, Name: f.Name, UserID: f.UserID, User: names[f.UserID]})
	}
	return roots, nil
}

// AddMandator adds a mandator. A name that is taken is KindConflict, one that a folder cannot
// have KindInvalid; so it is for AddInbox.
func (a *Admin) AddMandator(ctx context.Context, name string) (archive.ID, error) {
	return a.addRoot(ctx, store.Folder{Name: name})
}

// AddInbox adds an inbox, of a user if one is named.
func (a *Admin) AddInbox(ctx context.Context, name, user string) (archive.ID, error) {
	inbox := store.Folder{Name: name, Inbox: true}
	if user != "" {
		account, err := a.archive().Account(ctx, user)
		if err != nil {
			return 0, err
		}
		inbox.UserID = account.ID
	}
	return a.addRoot(ctx, inbox)
}

func (a *Admin) addRoot(ctx context.Context, f store.Folder) (archive.ID, error) {
	if wrong := folderNameFault(f.Name); wrong != "" {
		return 0, refuse(archive.KindInvalid, "%q is no name: %s", f.Name, strings.TrimPrefix(wrong, "required: "))
	}
	return a.archive().AddFolder(ctx, f)
}

// AutoExport is a document whose auto-export status is set.
type AutoExport struct {
	ID   archive.ID
	Name string
	// Folder is where it lies, as a path from the mandator or from INBOX.
	Folder string
}

// AutoExports calls each for the documents whose auto-export status is set, by ascending id.
func (a *Admin) AutoExports(ctx context.Context, each func(AutoExport) error) error {
	paths := map[archive.ID]string{}
	return a.archive().ListAutoExport(ctx, func(d store.Listed) error {
		path, known := paths[d.Folder]
		if !known {
			lineage, err := a.archive().Lineage(ctx, d.Folder)
			if err != nil {
				return err
			}
			mandator, below := location(lineage)
			path = cmp.Or(strings.TrimSuffix(mandator+below, "/"), "/")
			paths[d.Folder] = path
		}
		return each(AutoExport{ID: d.ID, Name: d.Name, Folder: path})
	})
}
