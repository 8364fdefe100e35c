package store

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

// column is a column in the schema of a database.
type column struct {
	table, name string
	given       bool // the engine assigns its values
	lasting     bool // and never reuses one
}

// made are the tables and columns that are derived from others, or about the engine itself.
func made(c column) bool {
	switch c.table {
	case "change_mark", "schema_version", "indexed_to", "sqlite_sequence":
		return true
	case "content":
		return c.name == "words" || c.name == "stems"
	}
	return strings.HasPrefix(c.table, "said_index") || strings.HasPrefix(c.table, "content_index")
}

// A copy has every table and column. A new one must be added to tables, or, if it is derived, to made,
// and be derived again when a database is copied.
func TestTablesAreAllThereIs(t *testing.T) {
	inSQLite, err := Open(t.Context(), filepath.Join(t.TempDir(), "archive.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inSQLite.Close() }()
	inPostgres, err := OpenPostgres(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inPostgres.Close() }()
	want := map[string]column{}
	for _, known := range tables() {
		for _, name := range known.columns {
			id := name == "id"
			want[known.table(name)] = column{known.name, name, id && known.given, id && known.lasting}
		}
	}
	for engine, test := range map[string]struct {
		store *Store
		query string
		key   string
	}{
		"sqlite": {
			inSQLite, `SELECT t.name, c.name, c.name = 'id' AND t.sql LIKE '%AUTOINCREMENT%', c.name = 'id' AND t.sql LIKE '%AUTOINCREMENT%'
			FROM sqlite_schema t, pragma_table_xinfo(t.name) c WHERE t.type = 'table'`,
			"SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk",
		},
		"postgres": {
			inPostgres, `SELECT table_name, column_name, is_identity = 'YES' OR column_default IS NOT NULL AND column_default LIKE 'nextval%', is_identity = 'YES'
			FROM information_schema.columns WHERE table_schema = current_schema()`,
			`SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
			WHERE i.indisprimary AND i.indrelid = CAST(CAST(? AS TEXT) AS REGCLASS) ORDER BY array_position(i.indkey, a.attnum)`,
		},
	} {
		t.Run(engine, func(t *testing.T) {
			found := map[string]bool{}
			columns, err := collect(t.Context(), test.store.read, "read schema", func(row scanner) (c column, err error) {
				return c, row.Scan(&c.table, &c.name, &c.given, &c.lasting)
			}, test.query)
			if err != nil || len(columns) < 50 {
				t.Fatal(columns, err)
			}
			for _, c := range columns {
				if made(c) {
					continue
				}
				known, ok := want[c.table+"."+c.name]
				if !ok {
					t.Errorf("no copy has the column %s of %s", c.name, c.table)
				}
				if engine == "postgres" && known.given != c.given || engine == "sqlite" && known.lasting != c.lasting {
					t.Errorf("ids: %+v, want %+v", c, known)
				}
				found[c.table+"."+c.name] = true
			}
			for name := range want {
				if !found[name] {
					t.Errorf("there is no column %s", name)
				}
			}
			for _, known := range tables() {
				key, err := collect(t.Context(), test.store.read, "read schema", func(row scanner) (name string, err error) { return name, row.Scan(&name) }, test.key, known.name)
				if err != nil || !slices.Equal(key, strings.Split(known.key, ", ")) {
					t.Errorf("the key of %s is %v, %v; want %s", known.name, key, err, known.key)
				}
			}
		})
	}
}

func (t table) table(column string) string { return t.name + "." + column }
