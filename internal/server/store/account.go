package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Account is a user of a tenant.
type Account struct {
	// ID is that of no inbox that was there before, so that nobody is given one by chance.
	ID      int64
	Name    string
	Created time.Time
	// Password is what is kept of it; this package does not look into it.
	Password string
}

// AddAccount adds a user. A name that is taken is KindConflict.
func (a Archive) AddAccount(ctx context.Context, name, password string, at time.Time) (id int64, err error) {
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
			id, a.tenant, name, password, at.Unix())
		return err
	})
	if a.taken(err) {
		return 0, refuse(archive.KindConflict, "there is a user %q already", name)
	}
	if err != nil {
		return 0, fmt.Errorf("add user: %w", err)
	}
	return id, nil
}

const (
	selectAccounts = "SELECT id, name, password, created FROM account WHERE tenant = ?"
	selectAccount  = selectAccounts + " AND name = ?"
)

// Account returns a user by name, KindNotFound when there is none.
func (a Archive) Account(ctx context.Context, name string) (Account, error) {
	account, err := scanAccount(a.read.row(ctx, selectAccount, a.tenant, name))
	if errors.Is(err, sql.ErrNoRows) {
		return Account{}, noAccount(name)
	}
	return account, err
}

const selectPerson = `SELECT coalesce((SELECT id FROM account WHERE tenant = ?1 AND name = ?2),
	(SELECT user_id FROM folder WHERE tenant = ?1 AND inbox AND parent IS NULL AND name = ?2), 0)`

// person returns the number of who has a name: that of the user, else of whom the inbox of this name belongs to,
// else 0.
func (a Archive) person(ctx context.Context, q session, name string) (id int64, err error) {
	if name == "" {
		return 0, nil
	}
	if err := q.row(ctx, selectPerson, a.tenant, name).Scan(&id); err != nil {
		return 0, fmt.Errorf("look for a user: %w", err)
	}
	return id, nil
}

// FindAccount returns a user of a tenant.
func (s *Store) FindAccount(ctx context.Context, tenant TenantID, name string) (Account, error) {
	return s.Tenant(tenant).Account(ctx, name)
}

// Accounts returns all users by name.
func (a Archive) Accounts(ctx context.Context) ([]Account, error) {
	return collect(ctx, a.read, scanAccount, selectAccounts+" ORDER BY name", a.tenant)
}

// SetPassword replaces what is kept of a user's password.
func (a Archive) SetPassword(ctx context.Context, name, password string) error {
	return a.alterAccount(ctx, name, "UPDATE account SET password = ? WHERE tenant = ? AND name = ?", password, a.tenant, name)
}

// RemoveAccount removes a user. Inboxes and documents stay.
func (a Archive) RemoveAccount(ctx context.Context, name string) error {
	return a.alterAccount(ctx, name, "DELETE FROM account WHERE tenant = ? AND name = ?", a.tenant, name)
}

func (a Archive) alterAccount(ctx context.Context, name, query string, args ...any) error {
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

func scanAccount(row scanner) (Account, error) {
	var account Account
	var created int64
	if err := row.Scan(&account.ID, &account.Name, &account.Password, &created); err != nil {
		return Account{}, fmt.Errorf("read user: %w", err)
	}
	account.Created = time.Unix(created, 0)
	return account, nil
}

// affected is how many rows a change was about.
func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, q session, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	defer func() { _ = rows.Close() }()
	all := []T{}
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return all, nil
}
