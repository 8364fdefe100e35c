package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// table is one of those that make up an archive. A copy of a database takes over all its rows
// and columns, whatever the engines.
type table struct {
	name string
	// key are the columns of the primary key.
	key string
	// given says that the engine gives out the ids, lasting that none is given out twice, as
	// others know it.
	given, lasting bool
	// The columns, by what they hold.
	numbers, texts, switches []string
	// without are rows that belong to the place of an archive, and not to the archive.
	without string
}

// tables are all of them, in an order in which rows come after those that they refer to. What
// else is in a database is made of it: the indexes of the search (content_index, said_index and
// indexed_to of SQLite; words and stems of PostgreSQL's content), of which the texts are copied
// beside the rows, and the marks of changes (change_mark).
func tables() []table {
	return []table{
		{name: "tenant", key: "id", given: true, lasting: true, numbers: []string{"id"}, texts: []string{"cloud_id", "name"}},
		{
			name: "setting", key: "tenant, name", numbers: []string{"tenant"}, texts: []string{"name", "value"},
			without: "name = '" + SettingID + "'",
		},
		{
			name: "folder", key: "id", given: true, lasting: true, numbers: []string{"id", "tenant", "parent", "user_id"},
			texts: []string{"name", "folded"}, switches: []string{"inbox"},
		},
		{ // before documents, for which the database would make rows of its own
			name: "content", key: "id", given: true, numbers: []string{"id", "size", "attempts", "due"},
			texts: []string{"digest", "content_type", "state", "reason"},
		},
		{
			name: "document", key: "id", given: true, lasting: true,
			numbers: []string{"id", "tenant", "folder", "created", "archived", "pages", "size", "upload", "creator_id", "archiver_id"},
			texts: []string{
				"name", "content_type", "keywords", "metadata", "digest", "types", "creator", "external_id", "source", "said", "pairs",
			},
			switches: []string{"auto_export"},
		},
		{
			name: "annotation", key: "id", given: true, numbers: []string{"id", "document", "page", "creator_id"},
			texts: []string{"kind", "title", "text", "date", "creator", "folded_title", "folded_text"},
		},
		{name: "rendition", key: "source, variant", texts: []string{"source", "variant", "digest"}},
		{
			name: "audit", key: "id", given: true, lasting: true, numbers: []string{"id", "tenant", "at", "document", "former", "folder"},
			texts: []string{"who", "action", "key", "was", "became"},
		},
		{name: "account", key: "id", numbers: []string{"id", "tenant", "created"}, texts: []string{"name", "password"}},
		{
			name: "api_key", key: "id", given: true, lasting: true, numbers: []string{"id", "tenant", "created", "expires", "revoked", "used"},
			texts: []string{"name", "hash", "scopes", "mandators"},
		},
	}
}

// columns are those of numbers, texts and switches, in this order.
func (t table) columns() []string { return slices.Concat(t.numbers, t.texts, t.switches) }

// insert is the query that adds a row to the table in SQLite.
func (t table) insert() string {
	columns := t.columns()
	return "INSERT INTO " + t.name + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(slices.Repeat([]string{"?"}, len(columns)), ", ") + ")"
}

// row is one of a table. A text or a number can be NULL.
type row struct {
	numbers  []sql.NullInt64
	texts    []sql.NullString
	switches []bool
	fields   []any // pointers to all of them, in the order of columns
}

func (t table) newRow() *row {
	r := &row{
		numbers: make([]sql.NullInt64, len(t.numbers)), texts: make([]sql.NullString, len(t.texts)),
		switches: make([]bool, len(t.switches)),
	}
	for i := range r.numbers {
		r.fields = append(r.fields, &r.numbers[i])
	}
	for i := range r.texts {
		r.fields = append(r.fields, &r.texts[i])
	}
	for i := range r.switches {
		r.fields = append(r.fields, &r.switches[i])
	}
	return r
}

// values are those of all columns.
func (r *row) values() []any {
	values := make([]any, 0, len(r.fields))
	for _, n := range r.numbers {
		values = append(values, n)
	}
	for _, text := range r.texts {
		values = append(values, text)
	}
	for _, on := range r.switches {
		values = append(values, on)
	}
	return values
}

// where is the part of a query that leaves out what does not belong to the archive.
func (t table) where() string {
	if t.without == "" {
		return ""
	}
	return " WHERE NOT (" + t.without + ")"
}

// each calls f for every row, in the order of the key. The row is the same one each time.
func (t table) each(ctx context.Context, from session, f func(*row) error) error {
	rows, err := from.query(ctx, "SELECT "+strings.Join(t.columns(), ", ")+" FROM "+t.name+t.where()+" ORDER BY "+t.key)
	if err != nil {
		return fmt.Errorf("read %s: %w", t.name, err)
	}
	defer func() { _ = rows.Close() }()
	for r := t.newRow(); rows.Next(); {
		if err := rows.Scan(r.fields...); err != nil {
			return fmt.Errorf("read %s: %w", t.name, err)
		}
		if err := f(r); err != nil {
			return fmt.Errorf("copy %s: %w", t.name, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read %s: %w", t.name, err)
	}
	return nil
}
