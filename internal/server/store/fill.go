package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

const (
	// rowsAtOnce is how many rows are sent to PostgreSQL together.
	rowsAtOnce = 1000
	// bytesAtOnce is from how many bytes of text on fewer are.
	bytesAtOnce = 4 << 20
)

// fillRows copies all tables to an empty PostgreSQL database.
func fillRows(ctx context.Context, from *Store, to changing) error {
	for _, t := range tables() {
		if err := fillTable(ctx, t, from, to); err != nil {
			return err
		}
		if t.given {
			if err := fillLast(ctx, t, from, to); err != nil {
				return err
			}
		}
	}
	return fillTexts(ctx, from, to)
}

// rowBatch are rows of a table, by column.
type rowBatch struct {
	numbers  [][]pgtype.Int8
	texts    [][]pgtype.Text
	switches [][]bool
	rows     int
	bytes    int
}

func newBatch(t table) *rowBatch {
	return &rowBatch{
		numbers: make([][]pgtype.Int8, len(t.numbers)), texts: make([][]pgtype.Text, len(t.texts)),
		switches: make([][]bool, len(t.switches)),
	}
}

// add copies a row.
func (b *rowBatch) add(r *row) {
	for i, n := range r.numbers {
		b.numbers[i] = append(b.numbers[i], pgtype.Int8{Int64: n.Int64, Valid: n.Valid})
	}
	for i, text := range r.texts {
		b.texts[i] = append(b.texts[i], pgtype.Text{String: text.String, Valid: text.Valid})
		b.bytes += len(text.String)
	}
	for i, on := range r.switches {
		b.switches[i] = append(b.switches[i], on)
	}
	b.rows++
}

func (b *rowBatch) full() bool { return b.rows >= rowsAtOnce || b.bytes >= bytesAtOnce }

// flush runs a query with the columns, and empties the batch.
func (b *rowBatch) flush(ctx context.Context, to changing, query string) error {
	if b.rows == 0 {
		return nil
	}
	var columns []any
	for i := range b.numbers {
		columns = append(columns, b.numbers[i])
	}
	for i := range b.texts {
		columns = append(columns, b.texts[i])
	}
	for i := range b.switches {
		columns = append(columns, b.switches[i])
	}
	_, err := to.exec(ctx, query, columns...)
	for i := range b.numbers {
		b.numbers[i] = b.numbers[i][:0]
	}
	for i := range b.texts {
		clear(b.texts[i])
		b.texts[i] = b.texts[i][:0]
	}
	for i := range b.switches {
		b.switches[i] = b.switches[i][:0]
	}
	b.rows, b.bytes = 0, 0
	return err
}

// unnested are the rows of a batch in SQL.
func (t table) unnested() string {
	var arrays []string
	for range t.numbers {
		arrays = append(arrays, "CAST(? AS BIGINT[])")
	}
	for range t.texts {
		arrays = append(arrays, "CAST(? AS TEXT[])")
	}
	for range t.switches {
		arrays = append(arrays, "CAST(? AS BOOLEAN[])")
	}
	return "unnest(" + strings.Join(arrays, ", ") + ")"
}

func fillTable(ctx context.Context, t table, from *Store, to changing) error {
	query := "INSERT INTO " + t.name + " (" + strings.Join(t.columns(), ", ") + ") SELECT * FROM " + t.unnested()
	b := newBatch(t)
	err := t.each(ctx, from.read, func(r *row) error {
		if b.add(r); b.full() {
			return b.flush(ctx, to, query)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := b.flush(ctx, to, query); err != nil {
		return fmt.Errorf("copy %s: %w", t.name, err)
	}
	return nil
}

// fillLast has PostgreSQL give out no id that SQLite has given out.
func fillLast(ctx context.Context, t table, from *Store, to changing) error {
	var last int64
	err := from.read.row(ctx, "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0), coalesce(max(id), 0)) FROM "+t.name, t.name).Scan(&last)
	if err == nil {
		_, err = to.exec(ctx, "SELECT setval(CAST(pg_get_serial_sequence(?, 'id') AS REGCLASS), greatest(CAST(? AS BIGINT), 1), CAST(? AS BIGINT) > 0)",
			t.name, last, last)
	}
	if err != nil {
		return fmt.Errorf("copy the last id of %s: %w", t.name, err)
	}
	return nil
}

// selectTexts puts the words of the index of contents in order again: it knows where each is.
const selectTexts = `SELECT doc, coalesce(max(text) FILTER (WHERE col = 'words'), ''), coalesce(max(text) FILTER (WHERE col = 'stems'), '')
	FROM (SELECT doc, col, group_concat(term, ' ' ORDER BY offset) AS text FROM temp.word GROUP BY doc, col) GROUP BY doc`

// fillTexts copies the index of contents.
func fillTexts(ctx context.Context, from *Store, to changing) (err error) {
	connection, err := from.write.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	for _, query := range []string{"PRAGMA cache_size = -16384", "CREATE VIRTUAL TABLE IF NOT EXISTS temp.word USING fts5vocab(main, content_index, instance)"} {
		if _, err := connection.ExecContext(ctx, query); err != nil {
			return fmt.Errorf("read texts: %w", err)
		}
	}
	rows, err := connection.QueryContext(ctx, selectTexts)
	if err != nil {
		return fmt.Errorf("read texts: %w", err)
	}
	defer func() { _ = rows.Close() }()
	texts := table{name: "texts", numbers: []string{"id"}, texts: []string{"words", "stems"}}
	query := `UPDATE content SET words = CAST(text.words AS TSVECTOR), stems = CAST(text.stems AS TSVECTOR)
		FROM ` + texts.unnested() + ` AS text (id, words, stems) WHERE content.id = text.id`
	b := newBatch(texts)
	for r := texts.newRow(); rows.Next() && err == nil; {
		if err := rows.Scan(r.fields...); err != nil {
			return fmt.Errorf("read texts: %w", err)
		}
		for i := range r.texts {
			r.texts[i].String = tsvector(strings.Fields(r.texts[i].String))
		}
		if b.add(r); b.full() {
			err = b.flush(ctx, to, query)
		}
	}
	if err == nil {
		err = rows.Err()
	}
	if err == nil {
		err = b.flush(ctx, to, query)
	}
	if err != nil {
		return fmt.Errorf("copy texts: %w", err)
	}
	return nil
}
