package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// restoring begins the archive's id while the database is incomplete. Whoever sets the id first, a
// restore or a service, owns the database.
const restoring = "restoring "

// WantWhole returns an error if the id of an archive says that a restore is incomplete.
func WantWhole(id string) error {
	if strings.HasPrefix(id, restoring) {
		return errors.New("a restore into the database is under way or was interrupted, and the archive there is not whole: " +
			"call archivefs admin restore again")
	}
	return nil
}

// wantWhole refuses a database with an incomplete restore.
func (s *Store) wantWhole(ctx context.Context) error {
	id, err := s.Tenant(DefaultTenant).Setting(ctx, SettingID)
	if err != nil {
		return err
	}
	return WantWhole(id)
}

// Restoring is a PostgreSQL database to which an archive is being restored. It has none of its rows
// before Fill, and all of them after it.
type Restoring struct {
	// ID is the new id of the archive. It differs from that of the original, which may still be
	// served, with its contents elsewhere.
	ID string
	// Skip is how many ids of folders and documents are not assigned (SkipIDs).
	Skip  int64
	store *Store
	hold  *Hold
	began bool // by this process, and not by an interrupted one
}

// RestorePostgres begins a restore to a database, which must be empty or the target of an interrupted
// restore. Until Fill it cannot be opened, even if this process is killed. The returned context ends
// if a lost connection lets another restore begin.
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

// begin marks the database as incomplete.
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

// Rename gives the archive a new id if an interrupted restore has begun with the current one. Contents
// that it left under the old id are then nobody's.
func (r *Restoring) Rename(ctx context.Context) error {
	if r.began {
		return nil
	}
	made, err := NewID()
	if err != nil {
		return err
	}
	err = r.store.write.change(ctx, func(tx changing) error {
		n, err := affected(tx.exec(ctx, "UPDATE setting SET value = ? WHERE tenant = ? AND name = ? AND value = ?",
			restoring+made, DefaultTenant, SettingID, restoring+r.ID))
		if err == nil && n == 0 {
			err = errNotEmpty
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("change archive id: %w", err)
	}
	r.ID = made
	return nil
}

var errNotEmpty = errors.New("there is an archive in the database already; name an empty one with --database")

// wantEmpty refuses a database with more rows than a new one has.
func wantEmpty(ctx context.Context, q session) error {
	for _, t := range tables() {
		where := "true"
		switch {
		case t.name == "tenant":
			where = "id != 1 OR cloud_id IS NOT NULL OR name != ''"
		case t.without != "":
			where = "NOT (" + t.without + ")"
		}
		some, err := single[bool](ctx, q, "check whether the database is empty", "SELECT EXISTS (SELECT 1 FROM "+t.name+" WHERE "+where+")")
		if err != nil {
			return err
		}
		if some {
			return errNotEmpty
		}
	}
	return nil
}

// Abandon removes the mark of the restore, unless an interrupted restore set it: that one may have left
// contents under the id.
func (r *Restoring) Abandon(ctx context.Context) error {
	if !r.began {
		return nil
	}
	return r.store.write.change(ctx, func(tx changing) error {
		_, err := tx.exec(ctx, "DELETE FROM setting WHERE name = ? AND value = ?", SettingID, restoring+r.ID)
		return err
	})
}

// Fill copies everything but the search indexes from a SQLite database in one transaction, which completes the
// archive, and reports how many rows are left.
func (r *Restoring) Fill(ctx context.Context, from *Store, tell func(left int64)) error {
	extent, err := from.Extent(ctx)
	if err == nil {
		err = r.store.write.change(ctx, func(tx changing) error {
			return r.fill(ctx, &filling{from: from, to: tx, skip: r.Skip, left: extent.Rows, tell: tell})
		})
	}
	return wrapped("fill database", err)
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
	if id, err := r.store.Tenant(DefaultTenant).In(Scope{tx: tx}).Setting(ctx, SettingID); err != nil || id != restoring+r.ID {
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
	_, err := tx.exec(ctx, "ANALYZE "+all) // otherwise the first queries are planned for empty tables
	return err
}

// Close ends the restore. A database that was not filled stays marked as incomplete.
func (r *Restoring) Close() error {
	r.hold.Release()
	return r.store.Close()
}

// Extent is what it takes to copy a database with Fill.
type Extent struct {
	Rows int64 // to be written
	// Largest is the size of the largest content, according to the documents.
	Largest int64
}

// Extent determines the Extent of a SQLite database.
func (s *Store) Extent(ctx context.Context) (e Extent, err error) {
	for _, t := range tables() {
		n, err := single[int64](ctx, s.read, "count "+t.name, "SELECT count(*) FROM "+t.name+t.where())
		if err != nil {
			return e, err
		}
		e.Rows += n
	}
	e.Largest, err = single[int64](ctx, s.read, "look for the largest content", "SELECT coalesce(max(size), 0) FROM content")
	return e, err
}

const (
	// rowsAtOnce is how many rows are sent to PostgreSQL together.
	rowsAtOnce = 1000
	// bytesAtOnce is from how many bytes of text on fewer rows are sent.
	bytesAtOnce = 4 << 20
)

// filling copies a SQLite database to an empty PostgreSQL database.
type filling struct {
	from *Store
	to   changing
	skip int64 // Restoring.Skip
	// left is how many rows are still to be written; tell is called when it changes.
	left int64
	tell func(left int64)
}

func (f *filling) rows(ctx context.Context) error {
	for _, t := range tables() {
		if err := f.table(ctx, t); err != nil {
			return err
		}
		if t.given {
			if err := f.last(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// table copies the rows of a table, JSON objects, an array of them at a time.
func (f *filling) table(ctx context.Context, t table) error {
	columns := strings.Join(t.columns, ", ")
	insert := "INSERT INTO " + t.name + " (" + columns + ") SELECT " + columns +
		" FROM json_populate_recordset(CAST(NULL AS " + t.name + "), CAST(? AS JSON))"
	var rows []string
	bytes := 0
	send := func() error {
		if len(rows) == 0 {
			return nil
		}
		_, err := f.to.exec(ctx, insert, "["+strings.Join(rows, ",")+"]")
		f.left -= int64(len(rows))
		f.tell(f.left)
		rows, bytes = rows[:0], 0
		return err
	}
	err := t.each(ctx, f.from.read, func(row string) error {
		rows, bytes = append(rows, row), bytes+len(row)
		if len(rows) < rowsAtOnce && bytes < bytesAtOnce {
			return nil
		}
		return send()
	})
	if err != nil {
		return err
	}
	return wrapped("copy "+t.name, send())
}

// last keeps PostgreSQL from assigning ids that SQLite has assigned, and those to be skipped.
func (f *filling) last(ctx context.Context, t table) error {
	var last int64
	err := f.from.read.row(ctx, "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0), coalesce(max(id), 0)) FROM "+t.name, t.name).Scan(&last)
	if slices.Contains(skipsIDs, t.name) {
		last += f.skip
	}
	if err == nil {
		_, err = f.to.exec(ctx, "SELECT setval(CAST(pg_get_serial_sequence(?, 'id') AS REGCLASS), greatest(CAST(? AS BIGINT), 1), CAST(? AS BIGINT) > 0)",
			t.name, last, last)
	}
	return wrapped("copy the last id of "+t.name, err)
}
