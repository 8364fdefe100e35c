package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// restoring begins the archive's id while the database is not whole. Whoever sets the id first
// has the database: a restore, or a service.
const restoring = "restoring "

// WantWhole is an error where the id of an archive says that a restore has not come to its end.
func WantWhole(id string) error {
	if strings.HasPrefix(id, restoring) {
		return errors.New("a restore into the database is under way or was interrupted, and the archive there is not whole: " +
			"call archivefs admin restore again")
	}
	return nil
}

// wantWhole refuses a database that was not restored whole.
func (s *Store) wantWhole(ctx context.Context) error {
	id, err := s.Tenant(DefaultTenant).Setting(ctx, SettingID)
	if err != nil {
		return err
	}
	return WantWhole(id)
}

// Restoring is a PostgreSQL database that an archive is restored to. It has none of its rows
// until Fill, and all of them after it.
type Restoring struct {
	// ID is what names the archive from now on: it is not the one that was backed up, which may
	// still be served, and has its contents elsewhere.
	ID    string
	store *Store
	hold  *Hold
	began bool // by this process, and not by one that was interrupted
}

// RestorePostgres begins to restore to a database, which must be empty, or one to which a
// restore was interrupted. Until Fill nobody else opens it, also when the process is killed. The
// context that is returned ends when another restore may begin, because a connection was lost.
func RestorePostgres(ctx context.Context, url string) (held context.Context, r *Restoring, err error) {
	s, at, err := connectPostgres(url, limits())
	if err != nil {
		return nil, nil, err
	}
	r = &Restoring{store: s}
	err = s.migrate(ctx, s.write)
	if err == nil {
		held, r.hold, err = s.hold(ctx, "restore", lockRestore, func(session) error { return nil })
	}
	if err != nil {
		return nil, nil, errors.Join(at.notOpened(err), s.Close())
	}
	if err := r.begin(held); err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	return held, r, nil
}

// begin marks the database as not whole.
func (r *Restoring) begin(ctx context.Context) error {
	made, err := NewID()
	if err != nil {
		return err
	}
	if err := wantEmpty(ctx, r.store.read); err != nil {
		return err
	}
	id, err := r.store.Tenant(DefaultTenant).FirstSetting(ctx, SettingID, restoring+made)
	if err != nil {
		return err
	}
	if WantWhole(id) == nil {
		return errNotEmpty
	}
	r.ID, _ = strings.CutPrefix(id, restoring)
	r.began = r.ID == made
	return nil
}

// Rename gives the archive another id, unless nobody can have used the one that it has: contents
// that an interrupted restore left under that one are then nobody's.
func (r *Restoring) Rename(ctx context.Context) error {
	if r.began {
		return nil
	}
	made, err := NewID()
	if err != nil {
		return err
	}
	err = r.store.write.change(ctx, func(tx changing) error {
		result, err := tx.exec(ctx, "UPDATE setting SET value = ? WHERE tenant = ? AND name = ? AND value = ?",
			restoring+made, DefaultTenant, SettingID, restoring+r.ID)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errNotEmpty)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("name archive: %w", err)
	}
	r.ID = made
	return nil
}

var errNotEmpty = errors.New("there is an archive in the database already; name an empty one with --database")

// wantEmpty refuses a database that has more than a new one has.
func wantEmpty(ctx context.Context, q session) error {
	for _, t := range tables() {
		where := "true"
		switch {
		case t.name == "tenant":
			where = "id != 1 OR cloud_id IS NOT NULL OR name != ''"
		case t.without != "":
			where = "NOT (" + t.without + ")"
		}
		var some bool
		if err := q.row(ctx, "SELECT EXISTS (SELECT 1 FROM "+t.name+" WHERE "+where+")").Scan(&some); err != nil {
			return fmt.Errorf("look whether the database is empty: %w", err)
		}
		if some {
			return errNotEmpty
		}
	}
	return nil
}

// Abandon gives the database up as it was, unless an interrupted restore had begun: that one may
// have left contents that go with the id.
func (r *Restoring) Abandon(ctx context.Context) error {
	if !r.began {
		return nil
	}
	return r.store.write.change(ctx, func(tx changing) error {
		_, err := tx.exec(ctx, "DELETE FROM setting WHERE name = ? AND value = ?", SettingID, restoring+r.ID)
		return err
	})
}

// Fill copies all that another database holds, a SQLite one, in one transaction: with its end the
// archive is whole. It needs room in dir, as from tells, and tells how many rows are left.
func (r *Restoring) Fill(ctx context.Context, from *Store, dir string, tell func(left int64)) error {
	extent, err := from.Extent(ctx)
	if err == nil {
		err = r.store.write.change(ctx, func(tx changing) error {
			return r.fill(ctx, &filling{from: from, to: tx, dir: dir, left: extent.Rows, tell: tell})
		})
	}
	if err != nil {
		return fmt.Errorf("fill database: %w", err)
	}
	return nil
}

func (r *Restoring) fill(ctx context.Context, f *filling) error {
	tx := f.to
	var names []string
	for _, t := range tables() {
		names = append(names, t.name)
	}
	all := strings.Join(names, ", ")
	for _, query := range []string{withoutLimits, "LOCK TABLE " + all + " IN EXCLUSIVE MODE"} {
		if _, err := tx.exec(ctx, query); err != nil {
			return err
		}
	}
	if id, err := r.store.Tenant(DefaultTenant).Setting(within(ctx, tx), SettingID); err != nil || id != restoring+r.ID {
		return errors.Join(err, errNotEmpty)
	}
	if err := wantEmpty(ctx, tx); err != nil {
		return err
	}
	for _, query := range []string{"DELETE FROM setting", "DELETE FROM tenant"} {
		if _, err := tx.exec(ctx, query); err != nil {
			return err
		}
	}
	if err := f.rows(ctx); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, "INSERT INTO setting (tenant, name, value) VALUES (?, ?, ?)", DefaultTenant, SettingID, r.ID); err != nil {
		return err
	}
	_, err := tx.exec(ctx, "ANALYZE "+all) // or the first queries would be planned for empty tables
	return err
}

// Close ends the work. What was not filled stays marked as not whole.
func (r *Restoring) Close() error {
	r.hold.Release()
	return r.store.Close()
}
