package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

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
