package store

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/archivefs/archivefs/internal/durable"
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
		var some bool
		if err := q.row(ctx, "SELECT EXISTS (SELECT 1 FROM "+t.name+" WHERE "+where+")").Scan(&some); err != nil {
			return fmt.Errorf("check whether the database is empty: %w", err)
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

// Fill copies everything from a SQLite database in one transaction, which completes the archive. It
// needs room in dir for temporary files (see Extent), and reports how many rows are left.
func (r *Restoring) Fill(ctx context.Context, from *Store, dir string, tell func(left int64)) error {
	extent, err := from.Extent(ctx)
	if err == nil {
		err = r.store.write.change(ctx, func(tx changing) error {
			return r.fill(ctx, &filling{from: from, to: tx, dir: dir, skip: r.Skip, left: extent.Rows, tell: tell})
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
	Rows int64 // to be written; a text counts as two
	// Room is how many bytes of temporary files the texts need, approximately at most.
	Room int64
	// Largest is the size of the largest content, according to the documents.
	Largest int64
}

// Extent determines the Extent of a SQLite database.
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
	// bytesAtOnce is from how many bytes of text on fewer rows are sent.
	bytesAtOnce = 4 << 20
)

// filling copies a SQLite database to an empty PostgreSQL database.
type filling struct {
	from *Store
	to   changing
	dir  string // for temporary files
	skip int64  // Restoring.Skip
	// left is how many rows are still to be written; tell is called when it changes.
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

// rowBatch are rows, JSON objects, and the query that takes an array of them.
type rowBatch struct {
	query string
	rows  []string
	bytes int
}

// add sends the rows of a batch when there are enough.
func (f *filling) add(ctx context.Context, b *rowBatch, row string) error {
	b.rows, b.bytes = append(b.rows, row), b.bytes+len(row)
	if len(b.rows) < rowsAtOnce && b.bytes < bytesAtOnce {
		return nil
	}
	return f.flush(ctx, b)
}

// flush sends the rows of a batch, and empties it.
func (f *filling) flush(ctx context.Context, b *rowBatch) error {
	if len(b.rows) == 0 {
		return nil
	}
	_, err := f.to.exec(ctx, b.query, "["+strings.Join(b.rows, ",")+"]")
	f.wrote(len(b.rows))
	clear(b.rows)
	b.rows, b.bytes = b.rows[:0], 0
	return err
}

func (f *filling) table(ctx context.Context, t table) error {
	columns := strings.Join(t.columns, ", ")
	b := &rowBatch{query: "INSERT INTO " + t.name + " (" + columns + ") SELECT " + columns +
		" FROM json_populate_recordset(CAST(NULL AS " + t.name + "), CAST(? AS JSON))"}
	if err := t.each(ctx, f.from.read, func(row string) error { return f.add(ctx, b, row) }); err != nil {
		return err
	}
	if err := f.flush(ctx, b); err != nil {
		return fmt.Errorf("copy %s: %w", t.name, err)
	}
	return nil
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
	if err != nil {
		return fmt.Errorf("copy the last id of %s: %w", t.name, err)
	}
	return nil
}

// texts copies the index of contents. SQLite stores the places of each word, and PostgreSQL needs the
// words of each text in order. So the index is read once, word by word, and split into portions: one
// temporary file for each range of text ids. The texts of one portion at a time are then put in order in
// memory.
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

// vocabulary returns a connection that can read the index word by word; end closes it.
func vocabulary(ctx context.Context, from *Store) (c *sql.Conn, end func() error, err error) {
	if c, err = from.read.db.Conn(ctx); err != nil {
		return nil, nil, err
	}
	end = func() error {
		_, err := c.ExecContext(context.WithoutCancel(ctx), "PRAGMA query_only = 1")
		return errors.Join(err, c.Close())
	}
	for _, query := range []string{
		"PRAGMA query_only = 0", // it would also forbid the temporary table
		"CREATE VIRTUAL TABLE IF NOT EXISTS temp.word USING fts5vocab(main, content_index, instance)",
	} {
		if _, err := c.ExecContext(ctx, query); err != nil {
			return nil, nil, errors.Join(err, end())
		}
	}
	return c, end, nil
}

// sortOut writes each place of a word into the file of its portion.
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
		if n%max(places/max(texts, 1), 1) == 0 && f.left > after { // once per average text
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
	b := &rowBatch{query: `UPDATE content SET words = CAST(text.words AS TSVECTOR), stems = CAST(text.stems AS TSVECTOR)
		FROM json_to_recordset(CAST(? AS JSON)) AS text (id BIGINT, words TEXT, stems TEXT) WHERE content.id = text.id`}
	for _, text := range texts {
		row, err := encode(map[string]any{"id": text.id, "words": tsvector(text.words), "stems": tsvector(text.stems)})
		if err == nil {
			err = f.add(ctx, b, row)
		}
		if err != nil {
			return err
		}
	}
	return f.flush(ctx, b)
}

const (
	// placesTogether is how many words are put in order at a time, unless that makes more portions
	// than mostPortions. Each word takes 16 bytes of memory.
	placesTogether = 4 << 20
	mostPortions   = 128
	// placeRoom is how many bytes a word takes in the file of a portion, approximately at most.
	placeRoom = 6
)

// portion is the texts of the index in a range of ids. Its file has a sequence for each word: a zero, the
// length of the word, the word, and then for each place the difference to the previous text id plus
// one, and the place. A place is twice the position in the text, plus one for a stem. All numbers are
// varints.
type portion struct {
	first         int64 // the id of its first text
	next          int64 // the id of the first text after it
	texts, places int64

	file *os.File // without a name, so that it disappears with the process
	to   *bufio.Writer
	word string // the last written word
	last int64  // the last written id of it
}

// indexed is a text of the index.
type indexed struct {
	id           int64
	words, stems []string
}

// portions divides the texts of an index into portions of about so many words, which fit into memory.
func portions(ctx context.Context, from session, together int64) (all []*portion, err error) {
	_, places, err := countTexts(ctx, from)
	if err != nil {
		return nil, err
	}
	together = max(together, places/mostPortions+1)
	err = eachLength(ctx, from, 0, math.MaxInt64, func(id int64, words, stems int) {
		n := len(all)
		if n == 0 || all[n-1].places >= together {
			if n > 0 {
				all[n-1].next = id
			}
			all = append(all, &portion{first: id, next: math.MaxInt64})
		}
		p := all[len(all)-1]
		p.texts, p.places = p.texts+1, p.places+int64(words+stems)
	})
	return all, err
}

// portionOf finds the portion of a text, nil if it is in none.
func portionOf(all []*portion, id int64) *portion {
	n := sort.Search(len(all), func(i int) bool { return all[i].first > id })
	if n == 0 {
		return nil
	}
	return all[n-1]
}

// create makes the file.
func (p *portion) create(dir string) (err error) {
	if p.file, err = durable.CreateTemp(dir); err != nil {
		return err
	}
	p.to = bufio.NewWriterSize(p.file, 64<<10)
	return os.Remove(p.file.Name())
}

func (p *portion) close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}

// put adds a place. All places of a word are put one after the other, by ascending id.
func (p *portion) put(word []byte, id, at int64) error {
	b := p.to.AvailableBuffer()
	if string(word) != p.word || p.last == 0 {
		b = append(b, 0)
		b = binary.AppendUvarint(b, uint64(len(word)))
		b = append(b, word...)
		p.word, p.last = string(word), p.first
	}
	b = binary.AppendUvarint(b, uint64(id-p.last)+1) //nolint:gosec // they ascend
	b = binary.AppendUvarint(b, uint64(at))          //nolint:gosec // a number of words
	p.last = id
	_, err := p.to.Write(b)
	return err
}

// ordered returns the texts, each with its words in order.
func (p *portion) ordered(ctx context.Context, from session) ([]indexed, error) {
	texts, at := make([]indexed, 0, p.texts), make(map[int64]int, p.texts)
	err := eachLength(ctx, from, p.first, p.next, func(id int64, words, stems int) {
		at[id] = len(texts)
		texts = append(texts, indexed{id, make([]string, words), make([]string, stems)})
	})
	if err != nil {
		return nil, err
	}
	err = p.each(func(word string, id, place int64) {
		n, known := at[id]
		if !known {
			return
		}
		into := texts[n].words
		if place%2 == 1 {
			into = texts[n].stems
		}
		if place/2 < int64(len(into)) {
			into[place/2] = word
		}
	})
	return texts, err
}

// each calls do for each place that was put.
func (p *portion) each(do func(word string, id, at int64)) error {
	if err := p.to.Flush(); err != nil {
		return err
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReaderSize(p.file, 64<<10)
	word, id := "", int64(0)
	for {
		step, err := binary.ReadUvarint(r)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case step == 0:
			n, err := binary.ReadUvarint(r)
			if err != nil {
				return err
			}
			text := make([]byte, n)
			if _, err := io.ReadFull(r, text); err != nil {
				return err
			}
			word, id = string(text), p.first
			continue
		}
		at, err := binary.ReadUvarint(r)
		if err != nil {
			return err
		}
		id += int64(step - 1)   //nolint:gosec // as it was put
		do(word, id, int64(at)) //nolint:gosec // likewise
	}
}

// countTexts counts the texts of an index and all their words.
func countTexts(ctx context.Context, from session) (texts, places int64, err error) {
	err = eachLength(ctx, from, 0, math.MaxInt64, func(_ int64, words, stems int) {
		texts, places = texts+1, places+int64(words+stems)
	})
	return texts, places, err
}

// eachLength calls do for each text of an index with its numbers of words and stems, by ascending id from
// first up to next, exclusive. FTS5 keeps these numbers as big-endian varints.
func eachLength(ctx context.Context, from session, first, next int64, do func(id int64, words, stems int)) error {
	return eachRow(ctx, from, "read lengths", func(row scanner) error {
		var id int64
		var sizes []byte
		if err := row.Scan(&id, &sizes); err != nil {
			return err
		}
		var all []int
		n := 0
		for _, b := range sizes {
			if n = n<<7 | int(b&0x7f); b < 0x80 {
				all, n = append(all, n), 0
			}
		}
		if len(all) != 2 {
			return fmt.Errorf("text %d has the sizes %x", id, sizes)
		}
		do(id, all[0], all[1])
		return nil
	}, "SELECT id, sz FROM content_index_docsize WHERE id >= ? AND id < ? ORDER BY id", first, next)
}
