package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/datalock"
	"github.com/archivefs/archivefs/internal/server/gate"
	"github.com/archivefs/archivefs/internal/server/limits"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/server/turns"
)

// Admin manages an archive through its database alone. A service may be running: it sees changes at once, those of keys
// and users within seconds. Methods are about one tenant, except those about tenants.
type Admin struct {
	db     *store.Store
	tenant store.TenantID
	place  Place
}

// Place is the location of an archive.
type Place struct {
	Data     string // its directory
	Database string // URL of a PostgreSQL database; empty for the one in the directory
	// CloudID names a tenant; empty for the default one.
	CloudID string
	// LogSize is that of the service (Options.LogSize).
	LogSize int64
}

// OpenAdmin opens an archive. A directory must exist.
func OpenAdmin(ctx context.Context, at Place) (*Admin, error) {
	db, err := at.open(ctx)
	if err != nil {
		return nil, err
	}
	a := &Admin{db: db, tenant: store.DefaultTenant, place: at}
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

// openBeside opens a database that a service may have open. It migrates it only if no service has.
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

// SetPages records how many pages a content has, for all tenants.
func (a *Admin) SetPages(ctx context.Context, digest string, pages int) error {
	return a.db.Uses.SetPages(ctx, digest, pages)
}

// Tenants returns all tenants, the default one first.
func (a *Admin) Tenants(ctx context.Context) ([]store.Tenant, error) { return a.db.Tenants(ctx) }

// AddTenant adds a tenant. The error is KindConflict for a cloud id that exists, KindInvalid for
// one that no header can carry.
func (a *Admin) AddTenant(ctx context.Context, cloudID, name string) (store.TenantID, error) {
	if cloudID == "" || strings.ContainsFunc(cloudID, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return 0, refusal.New(archive.KindInvalid, "a Cloud-ID consists of printable ASCII characters without blanks")
	}
	return a.db.AddTenant(ctx, cloudID, name)
}

// Root is a mandator or an inbox.
type Root struct {
	ID     archive.ID `json:"id"`
	Name   string     `json:"name"`
	UserID int64      `json:"user-id"`        // of an inbox
	User   string     `json:"user,omitempty"` // empty if that id does not exist
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
	users, err := a.db.Access.Accounts(ctx, a.tenant)
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

// AddMandator adds a mandator. The error is KindConflict for a name that exists, KindInvalid for
// one that a folder cannot have; AddInbox has the same errors.
func (a *Admin) AddMandator(ctx context.Context, name string) (archive.ID, error) {
	return a.addRoot(ctx, store.Folder{Name: name})
}

// AddInbox adds an inbox, of a user if one is named.
func (a *Admin) AddInbox(ctx context.Context, name, user string) (archive.ID, error) {
	inbox := store.Folder{Name: name, Inbox: true}
	if user != "" {
		account, err := a.db.Access.FindAccount(ctx, a.tenant, user)
		if err != nil {
			return 0, err
		}
		inbox.UserID = account.ID
	}
	return a.addRoot(ctx, inbox)
}

func (a *Admin) addRoot(ctx context.Context, f store.Folder) (archive.ID, error) {
	if wrong := limits.FolderName(f.Name); wrong != "" {
		return 0, refusal.New(archive.KindInvalid, "%q is no name: %s", f.Name, strings.TrimPrefix(wrong, "required: "))
	}
	return a.archive().AddFolder(ctx, f)
}

// AutoExport is a document whose auto-export status is set.
type AutoExport struct {
	ID   archive.ID `json:"id"`
	Name string     `json:"name"`
	// Folder is its folder, as a path from the mandator or from INBOX.
	Folder string `json:"folder"`
}

// AutoExports returns the documents whose auto-export status is set, by ascending id.
func (a *Admin) AutoExports(ctx context.Context) (all []AutoExport, err error) {
	paths := map[archive.ID]string{}
	err = a.archive().ListAutoExport(ctx, func(d store.Listed) error {
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
		all = append(all, AutoExport{ID: d.ID, Name: d.Name, Folder: path})
		return nil
	})
	return all, err
}

// Users returns all users by name.
func (a *Admin) Users(ctx context.Context) ([]store.Account, error) {
	return a.db.Access.Accounts(ctx, a.tenant)
}

const (
	maxUserName = 255  // in bytes
	maxPassword = 1024 // in bytes; a header has room for little more
)

// AddUser adds a user. The error is KindConflict for a name that exists, KindInvalid for one that
// Basic credentials cannot carry.
func (a *Admin) AddUser(ctx context.Context, name, password string) (int64, error) {
	if err := userNameFault(name); err != nil {
		return 0, err
	}
	if err := passwordFault(password); err != nil {
		return 0, err
	}
	return a.db.Access.AddAccount(ctx, a.tenant, name, gate.HashPassword(password), time.Now())
}

// SetPassword changes the password of a user.
func (a *Admin) SetPassword(ctx context.Context, name, password string) error {
	if err := passwordFault(password); err != nil {
		return err
	}
	return a.db.Access.SetPassword(ctx, a.tenant, name, gate.HashPassword(password))
}

// RemoveUser removes a user. Inboxes and documents stay.
func (a *Admin) RemoveUser(ctx context.Context, name string) error {
	return a.db.Access.RemoveAccount(ctx, a.tenant, name)
}

// HasUser returns nil if there is a user of that name, else KindNotFound.
func (a *Admin) HasUser(ctx context.Context, name string) error {
	_, err := a.db.Access.FindAccount(ctx, a.tenant, name)
	return err
}

// userNameFault returns the error of a name that Basic credentials cannot carry (RFC 7617, 2).
func userNameFault(name string) error {
	if name == "" || len(name) > maxUserName || !utf8.ValidString(name) || strings.ContainsRune(name, ':') || strings.ContainsFunc(name, unicode.IsControl) {
		return refusal.New(archive.KindInvalid, "a user needs a name of at most %d bytes, without a colon and control characters", maxUserName)
	}
	return nil
}

func passwordFault(password string) error {
	if password == "" || len(password) > maxPassword || strings.ContainsFunc(password, unicode.IsControl) {
		return refusal.New(archive.KindInvalid, "a password has 1 to %d bytes, without control characters", maxPassword)
	}
	return nil
}

// NewKey describes a key to add.
type NewKey struct {
	Name      string    // for people; may be empty
	Expires   time.Time // zero for never
	Scopes    []Scope   // nil for all
	Mandators []string  // by name; nil for all
}

// AddKey makes a key and returns it: only its hash is kept. The error is KindNotFound for an
// unknown mandator, KindInvalid for an unknown scope.
func (a *Admin) AddKey(ctx context.Context, n NewKey) (id int64, key string, err error) {
	added := store.Key{Name: n.Name, Created: time.Now(), Expires: n.Expires}
	if n.Scopes == nil {
		n.Scopes = Scopes()
	}
	for _, scope := range n.Scopes {
		if !slices.Contains(Scopes(), scope) {
			return 0, "", refusal.New(archive.KindInvalid, "there is no scope %q; there are read and write", string(scope))
		}
		if !slices.Contains(added.Scopes, string(scope)) {
			added.Scopes = append(added.Scopes, string(scope))
		}
	}
	for _, name := range n.Mandators {
		mandator, err := a.archive().Child(ctx, 0, name)
		if err != nil {
			return 0, "", err
		}
		added.Mandators = append(added.Mandators, mandator.ID)
	}
	key = gate.NewKey()
	id, err = a.db.Access.AddKey(ctx, a.tenant, added, gate.HashKey(key))
	return id, key, err
}

// Key describes a key.
type Key struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name,omitempty"`
	Valid     bool      `json:"valid"` // neither revoked nor expired
	Scopes    []string  `json:"scopes"`
	Mandators []string  `json:"mandators,omitempty"` // by name; nil for all
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires,omitzero"` // zero for never
	Revoked   time.Time `json:"revoked,omitzero"` // zero if it is not revoked
	Used      time.Time `json:"used,omitzero"`    // to the minute; zero for never
}

// Keys returns all keys, invalid ones included, in the order in which they were added.
func (a *Admin) Keys(ctx context.Context) ([]Key, error) {
	found, err := a.db.Access.Keys(ctx, a.tenant)
	if err != nil {
		return nil, err
	}
	mandators, err := a.archive().Roots(ctx, false)
	if err != nil {
		return nil, err
	}
	keys := make([]Key, 0, len(found))
	for _, k := range found {
		key := Key{
			ID: k.ID, Name: k.Name, Valid: k.Valid(time.Now()), Scopes: k.Scopes,
			Created: k.Created, Expires: k.Expires, Revoked: k.Revoked, Used: k.Used,
		}
		for _, id := range k.Mandators {
			if at := slices.IndexFunc(mandators, func(f store.Folder) bool { return f.ID == id }); at >= 0 {
				key.Mandators = append(key.Mandators, mandators[at].Name)
			}
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// RevokeKeys revokes keys permanently. The error names keys that do not exist; the others are revoked.
// A key may still be accepted for 2 s.
func (a *Admin) RevokeKeys(ctx context.Context, ids ...int64) error {
	return a.db.Access.RevokeKeys(ctx, a.tenant, ids, time.Now())
}

// furnisher adds to the archive of the default tenant without a request.
type furnisher struct {
	catalog wholeArchive
	intake  *intake
}

// wholeArchive is the archive of a tenant, with what no request asks for.
type wholeArchive interface {
	catalog.Catalog
	Empty(ctx context.Context) (bool, error)
}

// AddMandator adds a mandator. The error is KindConflict for a name that exists, KindInvalid for
// one that a folder cannot have; AddInbox and AddFolder have the same errors.
func (f *furnisher) AddMandator(ctx context.Context, name string) (archive.ID, error) {
	return f.addFolder(ctx, store.Folder{Name: name})
}

// AddInbox adds a user's inbox.
func (f *furnisher) AddInbox(ctx context.Context, userID int64, name string) (archive.ID, error) {
	return f.addFolder(ctx, store.Folder{Name: name, Inbox: true, UserID: userID})
}

// AddFolder adds a folder to a folder or an inbox, whether the structure is free or not.
func (f *furnisher) AddFolder(ctx context.Context, parent archive.ID, name string) (archive.ID, error) {
	if parent == 0 {
		return 0, refusal.Invalid("parent-folder-id", "a folder needs a parent")
	}
	return f.addFolder(ctx, store.Folder{Parent: parent, Name: name})
}

func (f *furnisher) addFolder(ctx context.Context, folder store.Folder) (archive.ID, error) {
	if wrong := limits.FolderName(folder.Name); wrong != "" {
		return 0, refusal.Invalid("name", "%s", wrong)
	}
	return f.catalog.AddFolder(ctx, folder)
}

// NewDocument describes a document to add to the archive or to an inbox.
type NewDocument struct {
	Folder     archive.ID
	Name       string
	Created    time.Time
	Archived   time.Time // zero in an inbox, and only there
	Keywords   []string
	Types      []string
	Metadata   []archive.KeyValue
	ExternalID string
	AutoExport bool
	Notes      []archive.Note  // on page 1
	Stamps     []archive.Stamp // on page 1
}

// AddDocument adds a document with the dates and annotations of another archive. It reads the whole
// content, from which it takes page count and content type.
func (f *furnisher) AddDocument(ctx context.Context, d NewDocument, content io.Reader) (archive.ID, error) {
	if wrong := limits.DocumentName(d.Name); wrong != "" {
		return 0, refusal.Invalid("name", "%s", wrong)
	}
	received, err := f.intake.receive(ctx, turns.Nobody, content, d.Name, "")
	if err != nil {
		return 0, err
	}
	defer f.intake.discard(received)
	document := received.describe(store.Document{
		Folder: d.Folder, Name: d.Name, Created: d.Created, Archived: d.Archived,
		Keywords: d.Keywords, Types: d.Types, Metadata: d.Metadata,
		ExternalID: d.ExternalID, AutoExport: d.AutoExport, Notes: d.Notes, Stamps: d.Stamps,
	})
	ids, err := f.intake.keep(ctx, f.catalog, []receipt{received}, []store.Document{document}, false)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// Empty reports whether the archive has no mandator and no inbox yet.
func (f *furnisher) Empty(ctx context.Context) (bool, error) {
	return f.catalog.Empty(ctx)
}
