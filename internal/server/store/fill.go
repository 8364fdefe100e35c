package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// Extent is what it takes to fill another database with what one holds.
type Extent struct {
	Rows int64 // that are written; a text counts as two
	// Room is how many bytes the texts need in a directory for temporary files, at most or nearly so.
	Room int64
	// Largest is the size of the largest content, as documents tell.
	Largest int64
}

// Extent finds that out, of a SQLite database.
func (s *Store) Extent(ctx context.Context) (e Extent, err error) {
	for _, t := range tables() {
		var n int64
		if err := s.read.row(ctx, "SELECT count(*) FROM "+t.name+t.where()).Scan(&n); err != nil {
			return e, fmt.Errorf("count %s: %w", t.name, err)
		}
		e.Rows += n
	}
	if err := s.read.row(ctx, "SELECT coalesce(max(size), 0) FROM content").Scan(&e.Largest); err != nil {
		return e, fmt.Errorf("look for the largest content: %w", err)
	}
	texts, places, err := countTexts(ctx, s.read)
	if err != nil {
		return e, fmt.Errorf("count texts: %w", err)
	}
	e.Rows, e.Room = e.Rows+2*texts, placeRoom*places
	return e, nil
}

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

// texts copies the index of contents. SQLite knows of each word where it is, and PostgreSQL wants
// of each text its words in order. So the index is read once, word by word, and what belongs to
// texts whose ids follow each other goes into a file; of one file after the other the texts are
// then put in order, in memory.
func (f *filling) texts(ctx context.Context) (err error) {
	connection, end, err := vocabulary(ctx, f.from)
	if err != nil {
		return fmt.Errorf("read texts: %w", err)
	}
	defer func() { err = errors.Join(err, end()) }()
	all, err := portions(ctx, f.from.read, placesTogether)
	if err != nil {
		return fmt.Errorf("read texts: %w", err)
	}
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.close())
		}
	}()
	if err := f.sortOut(ctx, connection, all); err != nil {
		return fmt.Errorf("read texts: %w", err)
	}
	for _, p := range all {
		if err := f.portion(ctx, p); err != nil {
			return fmt.Errorf("copy texts: %w", err)
		}
	}
	return nil
}

// vocabulary is a connection that can read the index word by word, until end.
func vocabulary(ctx context.Context, from *Store) (c *sql.Conn, end func() error, err error) {
	if c, err = from.read.db.Conn(ctx); err != nil {
		return nil, nil, err
	}
	end = func() error {
		_, err := c.ExecContext(context.WithoutCancel(ctx), "PRAGMA query_only = 1")
		return errors.Join(err, c.Close())
	}
	for _, query := range []string{
		"PRAGMA query_only = 0", // it would refuse the temporary table, too
		"CREATE VIRTUAL TABLE IF NOT EXISTS temp.word USING fts5vocab(main, content_index, instance)",
	} {
		if _, err := c.ExecContext(ctx, query); err != nil {
			return nil, nil, errors.Join(err, end())
		}
	}
	return c, end, nil
}

// sortOut puts each place of a word into the file of its portion.
func (f *filling) sortOut(ctx context.Context, c *sql.Conn, all []*portion) error {
	var texts, places int64
	for _, p := range all {
		if err := p.create(f.dir); err != nil {
			return err
		}
		texts, places = texts+p.texts, places+p.places
	}
	after := f.left - texts
	rows, err := c.QueryContext(ctx, "SELECT term, doc, 2 * offset + (col = 'stems') FROM temp.word")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var word sql.RawBytes
	var id, at int64
	for n := int64(1); rows.Next(); n++ {
		if err := rows.Scan(&word, &id, &at); err != nil {
			return err
		}
		if p := portionOf(all, id); p != nil {
			if err := p.put(word, id, at); err != nil {
				return err
			}
		}
		if n%max(places/max(texts, 1), 1) == 0 && f.left > after { // as many as make a text
			f.wrote(1)
		}
	}
	f.wrote(int(f.left - after))
	return rows.Err()
}

// portion writes the texts of a portion.
func (f *filling) portion(ctx context.Context, p *portion) error {
	texts, err := p.ordered(ctx, f.from.read)
	if err != nil {
		return err
	}
	t := table{name: "texts", numbers: []string{"id"}, texts: []string{"words", "stems"}}
	query := `UPDATE content SET words = CAST(text.words AS TSVECTOR), stems = CAST(text.stems AS TSVECTOR)
		FROM ` + t.unnested() + ` AS text (id, words, stems) WHERE content.id = text.id`
	b, r := newBatch(t), t.newRow()
	for _, text := range texts {
		r.numbers[0] = sql.NullInt64{Int64: text.id, Valid: true}
		for i, words := range [][]string{text.words, text.stems} {
			r.texts[i] = sql.NullString{String: tsvector(words), Valid: true}
		}
		if b.add(r); b.full() {
			if err := f.flush(ctx, b, query); err != nil {
				return err
			}
		}
	}
	return f.flush(ctx, b, query)
}
