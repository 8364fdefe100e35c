package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Access is who may use the archives: the users and API keys of all tenants.
type Access struct{ *database }

// Account is a user of a tenant.
type Account struct {
	// ID is that of no inbox that was there before, so that nobody is given one by chance.
	ID      int64     `json:"id"`
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	// Password is what is kept of it; this package does not look into it.
	Password string `json:"-"`
}

// AddAccount adds a user. The error is KindConflict if the name is taken.
func (a *Access) AddAccount(ctx context.Context, tenant TenantID, name, password string, at time.Time) (id int64, err error) {
	err = a.write.change(ctx, func(tx changing) error {
		if err := a.lock(ctx, tx, "accounts"); err != nil {
			return fmt.Errorf("lock accounts: %w", err)
		}
		err := tx.row(ctx, `SELECT 1 + coalesce(max(n), 0) FROM (SELECT id AS n FROM account
			UNION ALL SELECT user_id FROM folder WHERE user_id IS NOT NULL) AS given`).Scan(&id)
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, "INSERT INTO account (id, tenant, name, password, created) VALUES (?, ?, ?, ?, ?)",
			id, tenant, name, password, at.Unix())
		return err
	})
	if a.taken(err) {
		return 0, refuse(archive.KindConflict, "there is a user %q already", name)
	}
	return id, wrapped("add user", err)
}

const (
	selectAccounts = "SELECT id, name, password, created FROM account WHERE tenant = ?"
	selectAccount  = selectAccounts + " AND name = ?"
)

// FindAccount returns a user by name, KindNotFound when there is none.
func (a *Access) FindAccount(ctx context.Context, tenant TenantID, name string) (Account, error) {
	account, err := scanAccount(a.read.row(ctx, selectAccount, tenant, name))
	if errors.Is(err, sql.ErrNoRows) {
		return Account{}, noAccount(name)
	}
	return account, err
}

// Accounts returns all users of a tenant by name.
func (a *Access) Accounts(ctx context.Context, tenant TenantID) ([]Account, error) {
	return collect(ctx, a.read, "list users", scanAccount, selectAccounts+" ORDER BY name", tenant)
}

// SetPassword replaces the hash of a user's password.
func (a *Access) SetPassword(ctx context.Context, tenant TenantID, name, password string) error {
	return a.alterAccount(ctx, name, "UPDATE account SET password = ? WHERE tenant = ? AND name = ?", password, tenant, name)
}

// RemoveAccount removes a user. Inboxes and documents stay.
func (a *Access) RemoveAccount(ctx context.Context, tenant TenantID, name string) error {
	return a.alterAccount(ctx, name, "DELETE FROM account WHERE tenant = ? AND name = ?", tenant, name)
}

func (a *Access) alterAccount(ctx context.Context, name, query string, args ...any) error {
	return a.write.change(ctx, func(tx changing) error {
		n, err := affected(tx.exec(ctx, query, args...))
		if err != nil {
			return fmt.Errorf("change user: %w", err)
		}
		if n == 0 {
			return noAccount(name)
		}
		return nil
	})
}

func noAccount(name string) error {
	return refuse(archive.KindNotFound, "there is no user %q", name)
}

func scanAccount(row scanner) (account Account, err error) {
	var created int64
	err = row.Scan(&account.ID, &account.Name, &account.Password, &created)
	account.Created = time.Unix(created, 0)
	return account, wrapped("read user", err)
}

// Key is the stored data of a tenant's API key.
type Key struct {
	ID     int64
	Tenant Tenant
	Name   string // for people
	// Scopes are what it may do, opaque to this package.
	Scopes []string
	// Mandators are those to which it is confined, nil for all.
	Mandators []archive.ID
	Created   time.Time
	Expires   time.Time // zero for never
	Revoked   time.Time // zero when it is not
	Used      time.Time // approximate; zero for never
}

// Valid reports whether a key is neither revoked nor expired.
func (k *Key) Valid(now time.Time) bool {
	return k.Revoked.IsZero() && (k.Expires.IsZero() || now.Before(k.Expires))
}

// AddKey adds a key by its hash. The error is KindNotFound for a mandator that the tenant does not have.
func (a *Access) AddKey(ctx context.Context, tenant TenantID, k Key, hash string) (id int64, err error) {
	scopes, err := encodeStrings(k.Scopes)
	if err != nil {
		return 0, err
	}
	var mandators any
	if k.Mandators != nil {
		if mandators, err = encode(k.Mandators); err != nil {
			return 0, err
		}
	}
	err = a.write.change(ctx, func(tx changing) error {
		for _, mandator := range k.Mandators {
			f, err := findFolder(ctx, tx, tenant, mandator)
			if err != nil {
				return err
			}
			if f.Parent != 0 || f.Inbox {
				return refuse(archive.KindNotFound, "folder %d is no mandator", mandator)
			}
		}
		id, err = single[int64](ctx, tx, "add key", `INSERT INTO api_key (tenant, name, hash, scopes, mandators, created, expires)
			VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
			tenant, k.Name, hash, scopes, mandators, k.Created.Unix(), seconds(k.Expires))
		return err
	})
	return id, err
}

const (
	selectKeys = `SELECT api_key.id, tenant, coalesce(cloud_id, ''), tenant.name, api_key.name, scopes, mandators,
		created, expires, revoked, used FROM api_key JOIN tenant ON tenant.id = api_key.tenant`
	selectKey = selectKeys + " WHERE hash = ?"
)

// FindKey returns the key of a hash, of whatever tenant, KindNotFound when there is none.
func (a *Access) FindKey(ctx context.Context, hash string) (Key, error) {
	key, err := scanKey(a.read.row(ctx, selectKey, hash))
	if errors.Is(err, sql.ErrNoRows) {
		return Key{}, refuse(archive.KindNotFound, "there is no such key")
	}
	return key, err
}

// HasKeys reports whether there is a key, of whatever tenant and whether it is valid or not.
func (a *Access) HasKeys(ctx context.Context) (some bool, err error) {
	return single[bool](ctx, a.read, "look for keys", "SELECT EXISTS (SELECT 1 FROM api_key)")
}

// Keys returns all keys of a tenant in the order in which they were added.
func (a *Access) Keys(ctx context.Context, tenant TenantID) ([]Key, error) {
	return collect(ctx, a.read, "list keys", scanKey, selectKeys+" WHERE tenant = ? ORDER BY api_key.id", tenant)
}

// RevokeKeys revokes keys permanently. Unknown ids are an error of KindNotFound, but the other keys are
// revoked all the same: a stolen key must not stay valid because of a typo.
func (a *Access) RevokeKeys(ctx context.Context, tenant TenantID, ids []int64, at time.Time) error {
	var unknown []string
	err := a.write.change(ctx, func(tx changing) error {
		unknown = nil
		for _, id := range ids {
			n, err := affected(tx.exec(ctx, "UPDATE api_key SET revoked = coalesce(revoked, ?) WHERE id = ? AND tenant = ?", at.Unix(), id, tenant))
			if err != nil {
				return fmt.Errorf("revoke key: %w", err)
			}
			if n == 0 {
				unknown = append(unknown, strconv.FormatInt(id, 10))
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(unknown) == 0:
		return nil
	case len(unknown) == len(ids):
		return refuse(archive.KindNotFound, "there is no key %s", strings.Join(unknown, ", "))
	}
	return refuse(archive.KindNotFound, "there is no key %s; the others are revoked", strings.Join(unknown, ", "))
}

// UseKey records that a key was used, unless a use since before is already recorded.
func (a *Access) UseKey(ctx context.Context, id int64, at, before time.Time) error {
	return a.write.change(ctx, func(tx changing) error {
		return run(ctx, tx, "record the use of a key", "UPDATE api_key SET used = ? WHERE id = ? AND coalesce(used, 0) < ?", at.Unix(), id, before.Unix())
	})
}

func scanKey(row scanner) (Key, error) {
	var k Key
	var scopes, mandators []byte
	var created int64
	var expires, revoked, used sql.NullInt64
	if err := row.Scan(&k.ID, &k.Tenant.ID, &k.Tenant.CloudID, &k.Tenant.Name, &k.Name, &scopes, &mandators,
		&created, &expires, &revoked, &used); err != nil {
		return Key{}, fmt.Errorf("read key: %w", err)
	}
	err := json.Unmarshal(scopes, &k.Scopes)
	if mandators != nil {
		err = errors.Join(err, json.Unmarshal(mandators, &k.Mandators))
	}
	if err != nil {
		return Key{}, fmt.Errorf("read key %d: %w", k.ID, err)
	}
	k.Created, k.Expires, k.Revoked, k.Used = time.Unix(created, 0), instant(expires), instant(revoked), instant(used)
	return k, nil
}
