package server

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/gate"
	"github.com/archivefs/archivefs/internal/server/store"
)

// User is somebody who shows a password beside a key.
type User struct {
	ID      int64
	Name    string
	Created time.Time
}

// Users returns all users by name.
func (a *Admin) Users(ctx context.Context) ([]User, error) {
	accounts, err := a.archive().Accounts(ctx)
	users := make([]User, 0, len(accounts))
	for _, account := range accounts {
		users = append(users, User{ID: account.ID, Name: account.Name, Created: account.Created})
	}
	return users, err
}

const (
	maxUserName = 255  // in bytes
	maxPassword = 1024 // in bytes; a header has little more room
)

// AddUser adds a user. A name that is taken is KindConflict, one that Basic credentials cannot
// carry KindInvalid.
func (a *Admin) AddUser(ctx context.Context, name, password string) (int64, error) {
	if err := userNameFault(name); err != nil {
		return 0, err
	}
	if err := passwordFault(password); err != nil {
		return 0, err
	}
	return a.archive().AddAccount(ctx, name, gate.HashPassword(password), time.Now())
}

// SetPassword gives a user another password.
func (a *Admin) SetPassword(ctx context.Context, name, password string) error {
	if err := passwordFault(password); err != nil {
		return err
	}
	return a.archive().SetPassword(ctx, name, gate.HashPassword(password))
}

// RemoveUser removes a user. Inboxes and documents stay.
func (a *Admin) RemoveUser(ctx context.Context, name string) error {
	return a.archive().RemoveAccount(ctx, name)
}

// HasUser returns nil when there is a user of that name, else KindNotFound.
func (a *Admin) HasUser(ctx context.Context, name string) error {
	_, err := a.archive().Account(ctx, name)
	return err
}

// userNameFault returns the error of a name that Basic credentials cannot carry (RFC 7617, 2).
func userNameFault(name string) error {
	if name == "" || len(name) > maxUserName || !utf8.ValidString(name) || strings.ContainsRune(name, ':') || strings.ContainsFunc(name, unicode.IsControl) {
		return refuse(archive.KindInvalid, "a user needs a name of at most %d bytes, without a colon and control characters", maxUserName)
	}
	return nil
}

func passwordFault(password string) error {
	if password == "" || len(password) > maxPassword || strings.ContainsFunc(password, unicode.IsControl) {
		return refuse(archive.KindInvalid, "a password has 1 to %d bytes, without control characters", maxPassword)
	}
	return nil
}

// NewKey describes a key to be added.
type NewKey struct {
	Name      string    // for people; may be empty
	Expires   time.Time // zero for never
	Scopes    []Scope   // nil for all
	Mandators []string  // by name; nil for all
}

// AddKey makes a key and returns it: it is not kept, but for a hash. A mandator that is not
// there is KindNotFound, a scope KindInvalid.
func (a *Admin) AddKey(ctx context.Context, n NewKey) (id int64, key string, err error) {
	added := store.Key{Name: n.Name, Created: time.Now(), Expires: n.Expires}
	if n.Scopes == nil {
		n.Scopes = Scopes()
	}
	for _, scope := range n.Scopes {
		if !slices.Contains(Scopes(), scope) {
			return 0, "", refuse(archive.KindInvalid, "there is no scope %q; there are read and write", string(scope))
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
	id, err = a.archive().AddKey(ctx, added, gate.HashKey(key))
	return id, key, err
}

// Key is what is known of a key.
type Key struct {
	ID        int64
	Name      string
	Valid     bool // neither revoked nor expired
	Scopes    []string
	Mandators []string // by name; nil for all
	Created   time.Time
	Expires   time.Time // zero for never
	Revoked   time.Time // zero when it is not
	Used      time.Time // the minute; zero for never
}

// Keys returns all keys in the order in which they were added, those that cannot be used any
// more, too.
func (a *Admin) Keys(ctx context.Context) ([]Key, error) {
	found, err := a.archive().Keys(ctx)
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

// RevokeKeys ends keys for ever, also when some of them are not there, which is an error. They may be
// let in for 2 s more.
func (a *Admin) RevokeKeys(ctx context.Context, ids ...int64) error {
	return a.archive().RevokeKeys(ctx, ids, time.Now())
}
