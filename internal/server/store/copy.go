package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// table is a table of an archive. A copy for another engine has all its rows and columns.
type table struct {
	name string
	// key has the columns of the primary key.
	key string
	// given says that the engine assigns the ids; lasting, that it must never reuse one, because others may know it.
	given, lasting bool
	columns        []string
	// without are rows that belong to the place of an archive, and not to the archive.
	without string
	// anew has what columns of a copy for another engine are, in place of what they were.
	anew map[string]string
}

// tables are all tables of an archive, in an order in which rows follow those that they refer to. Everything else in a
// database is derived: the search indexes (content_index, said_index and indexed_to of SQLite; words and stems of
// PostgreSQL's content), which a service makes anew, and the marks of transactions (change_mark).
func tables() []table {
	return []table{
		{name: "tenant", key: "id", given: true, lasting: true, columns: []string{"id", "cloud_id", "name"}},
		{
			name: "setting", key: "tenant, name", columns: []string{"tenant", "name", "value"},
			without: "name = '" + SettingID + "'",
		},
		{
			name: "folder", key: "id", given: true, lasting: true,
			columns: []string{"id", "tenant", "parent", "user_id", "name", "folded", "inbox"},
		},
		{ // before documents, for which the database would make rows of its own
			name: "content", key: "id", given: true,
			columns: []string{"id", "size", "attempts", "due", "digest", "content_type", "state", "reason"},
			anew: map[string]string{
				"attempts": "CASE WHEN state IN ('waiting', 'unreadable') THEN attempts ELSE 0 END",
				"due":      "CASE WHEN state IN ('waiting', 'unreadable') THEN due ELSE 0 END",
				"state":    "CASE WHEN state = 'unreadable' THEN state ELSE 'waiting' END",
			},
		},
		{
			name: "document", key: "id", given: true, lasting: true,
			columns: []string{
				"id", "tenant", "folder", "created", "archived", "pages", "size", "upload", "creator_id", "archiver_id", "name", "content_type",
				"keywords", "metadata", "digest", "types", "creator", "external_id", "source", "said", "pairs", "auto_export",
			},
		},
		{
			name: "annotation", key: "id", given: true,
			columns: []string{"id", "document", "page", "creator_id", "kind", "title", "text", "date", "creator", "folded_title", "folded_text"},
		},
		{name: "rendition", key: "source, variant", columns: []string{"source", "variant", "digest"}},
		{
			name: "audit", key: "id", given: true, lasting: true,
			columns: []string{"id", "tenant", "at", "document", "former", "folder", "who", "action", "key", "was", "became"},
		},
		{
			name: "trash", key: "id",
			columns: []string{"id", "tenant", "size", "removed", "due", "law", "erasing", "digest", "who", "reason", "place", "document", "annotations"},
		},
		{
			name: "retention", key: "id", given: true, lasting: true,
			columns: []string{"id", "tenant", "months", "days", "folder", "name", "type"},
		},
		{name: "account", key: "id", columns: []string{"id", "tenant", "created", "name", "password"}},
		{
			name: "api_key", key: "id", given: true, lasting: true,
			columns: []string{"id", "tenant", "created", "expires", "revoked", "used", "name", "hash", "scopes", "mandators"},
		},
	}
}

// insert is the query that adds a row, a JSON object, to the table in SQLite.
func (t table) insert() string {
	values := make([]string, 0, len(t.columns))
	for _, column := range t.columns {
		values = append(values, "json_extract(?1, '$."+column+"')")
	}
	return "INSERT INTO " + t.name + " (" + strings.Join(t.columns, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

// where is the part of a query that leaves out rows that do not belong to the archive.
func (t table) where() string {
	if t.without == "" {
		return ""
	}
	return " WHERE NOT (" + t.without + ")"
}

// each calls f for every row, a JSON object, in the order of the key.
func (t table) each(ctx context.Context, from session, f func(row string) error) error {
	return eachRow(ctx, from, "copy "+t.name, func(row scanner) error {
		var object string
		if err := row.Scan(&object); err != nil {
			return err
		}
		return f(object)
	}, t.objects()+t.where()+" ORDER BY "+t.key)
}

// objects is a query for the rows, each a JSON object.
func (t table) objects() string {
	fields := make([]string, 0, len(t.columns))
	for _, column := range t.columns {
		fields = append(fields, "'"+column+"', "+cmp.Or(t.anew[column], column))
	}
	return "SELECT json_object(" + strings.Join(fields, ", ") + ") FROM " + t.name
}

// CopyTo writes a snapshot of the database into a new SQLite file, while others continue to change it.
// The copy is not synced. PostgreSQL is copied row by row, in one transaction, without the search indexes: the
// service that opens the copy makes them anew.
func (s *Store) CopyTo(ctx context.Context, file string) error {
	return wrapped("copy database", s.copyTo(ctx, s.read, file))
}

// skipsIDs are the tables whose ids mounts know.
var skipsIDs = []string{"folder", "document"}

// SkipIDs keeps a database in a file from assigning the next n ids of folders and documents.
func (s *Store) SkipIDs(ctx context.Context, n int64) error {
	return wrapped("skip ids", s.write.change(ctx, func(tx changing) error {
		for _, table := range skipsIDs {
			_, err := tx.exec(ctx, "INSERT INTO sqlite_sequence (name, seq) SELECT ?, 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?)", table, table)
			if err == nil {
				_, err = tx.exec(ctx, "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = ?", n, table)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

func (inFile) copyTo(ctx context.Context, from *pool, file string) error {
	connection, err := from.db.Conn(ctx)
	if err != nil {
		return err
	}
	_, err = connection.ExecContext(ctx, "PRAGMA query_only = 0") // it would also forbid writing the copy
	if err == nil {
		_, err = connection.ExecContext(ctx, "VACUUM INTO ?", file)
	}
	_, again := connection.ExecContext(context.WithoutCancel(ctx), "PRAGMA query_only = 1")
	return errors.Join(err, again, connection.Close())
}

func (postgres) copyTo(ctx context.Context, from *pool, file string) error {
	to, err := newCopy(ctx, file)
	if err != nil {
		return err
	}
	snapshot, err := from.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return errors.Join(fmt.Errorf("begin transaction: %w", err), to.db.Close())
	}
	source := &transaction{tx: snapshot, pool: from}
	if _, err = source.exec(ctx, withoutLimits); err == nil {
		err = to.once(ctx, func(tx changing) error { return copyRows(ctx, source, tx) })
	}
	return errors.Join(err, snapshot.Rollback(), to.db.Close())
}

// newCopy makes the database of a copy. An incomplete copy is useless after a crash, so nothing waits for the disk.
func newCopy(ctx context.Context, file string) (*pool, error) {
	to, err := openPool(file, 1, url.Values{
		"_pragma": {"journal_mode(OFF)", "synchronous(OFF)", "cache_size(-65536)", "foreign_keys(1)"},
	})
	if err != nil {
		return nil, err
	}
	err = inFile{}.migrate(ctx, to)
	if err == nil {
		var queries []string
		for _, t := range tables() {
			queries = append(queries, t.insert())
		}
		err = to.compile(ctx, queries...)
	}
	if err != nil {
		return nil, errors.Join(err, to.db.Close())
	}
	return to, nil
}

func copyRows(ctx context.Context, from session, to changing) error {
	// A folder may be older than its parent, and a new database already has the first tenant.
	for _, query := range []string{"PRAGMA defer_foreign_keys = 1", "DELETE FROM tenant"} {
		if _, err := to.exec(ctx, query); err != nil {
			return err
		}
	}
	for _, t := range tables() {
		insert := t.insert()
		err := t.each(ctx, from, func(row string) error {
			_, err := to.exec(ctx, insert, row)
			return err
		})
		if err == nil && t.lasting {
			err = copyLast(ctx, t, from, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyLast keeps SQLite from assigning ids that PostgreSQL has assigned.
func copyLast(ctx context.Context, t table, from session, to changing) error {
	var sequence string // quoted if necessary
	var last int64
	err := from.row(ctx, "SELECT pg_get_serial_sequence(?, 'id')", t.name).Scan(&sequence)
	if err == nil {
		err = from.row(ctx, "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM "+sequence).Scan(&last)
	}
	if err != nil {
		return fmt.Errorf("read the last id of %s: %w", t.name, err)
	}
	for _, query := range []string{"DELETE FROM sqlite_sequence WHERE name = ?1 AND ?2 IS NOT NULL", "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)"} {
		if err := run(ctx, to, "copy the last id of "+t.name, query, t.name, last); err != nil {
			return err
		}
	}
	return nil
}
