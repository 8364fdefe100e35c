package store

import (
	"context"
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

// filling copies all that a SQLite database holds to an empty PostgreSQL database.
type filling struct {
	from *Store
	to   changing
	dir  string // for temporary files
	// left is how many rows are still to be written, and tell is told of it.
	left int64
	tell func(left int64)
}

func (f *filling) wrote(rows int) {
	f.left -= int64(rows)
	f.tell(f.left)
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
	return f.texts(ctx)
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

// flush runs a query with the columns of a batch, and empties it.
func (f *filling) flush(ctx context.Context, b *rowBatch, query string) error {
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
	_, err := f.to.exec(ctx, query, columns...)
	f.wrote(b.rows)
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

func (f *filling) table(ctx context.Context, t table) error {
	query := "INSERT INTO " + t.name + " (" + strings.Join(t.columns(), ", ") + ") SELECT * FROM " + t.unnested()
	b := newBatch(t)
	err := t.each(ctx, f.from.read, func(r *row) error {
		if b.add(r); b.full() {
			return f.flush(ctx, b, query)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := f.flush(ctx, b, query); err != nil {
		return fmt.Errorf("copy %s: %w", t.name, err)
	}
	return nil
}

// last has PostgreSQL give out no id that SQLite has given out.
func (f *filling) last(ctx context.Context, t table) error {
	var last int64
	err := f.from.read.row(ctx, "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0), coalesce(max(id), 0)) FROM "+t.name, t.name).Scan(&last)
	if err == nil {
		_, err = f.to.exec(ctx, "SELECT setval(CAST(pg_get_serial_sequence(?, 'id') AS REGCLASS), greatest(CAST(? AS BIGINT), 1), CAST(? AS BIGINT) > 0)",
			t.name, last, last)
	}
	if err != nil {
		return fmt.Errorf("copy the last id of %s: %w", t.name, err)
	}
	return nil
}
