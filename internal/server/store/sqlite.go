package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"
	"unicode/utf8"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// busyTimeout is how long a connection waits for a lock, in milliseconds. Only a checkpoint or another
// process can hold one.
const busyTimeout = "busy_timeout(10000)"

// Open opens the SQLite database in a file, creates a missing one, and migrates it. Only the owner of
// the file may read it. The caller makes sure that no other process adds or removes documents.
func Open(ctx context.Context, file string) (*Store, error) {
	return open(file, func(s *Store) error { return s.openFile(ctx, file, inFile.migrate) })
}

// OpenBeside opens a SQLite database that another process uses. Only that process may add or remove
// documents. An older version is refused, not migrated.
func OpenBeside(ctx context.Context, file string) (*Store, error) {
	return open(file, func(s *Store) error { return s.openFile(ctx, file, inFile.wantNewest) })
}

func open(file string, with func(*Store) error) (*Store, error) {
	s := newStore(inFile{})
	if err := with(s); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", file, err), s.Close())
	}
	return s, nil
}

func (s *Store) openFile(ctx context.Context, file string, prepare func(inFile, context.Context, *pool) error) (err error) {
	if err := private(file); err != nil {
		return err
	}
	s.write, err = openPool(file, 1, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {busyTimeout, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"},
	})
	if err != nil {
		return err
	}
	s.write.group = &group{}
	if err := prepare(inFile{}, ctx, s.write); err != nil {
		return err
	}
	if err := s.write.compile(ctx, selectFolder, selectLineage, changeDocument, selectKnown, selectPerson, insertDocument, insertEntry,
		beginPart, dropPart, finishPart); err != nil {
		return err
	}
	s.read, err = openPool(file, max(4, 2*runtime.NumCPU())+1, url.Values{ // and one to watch
		"_pragma": {busyTimeout, "query_only(1)", "cache_size(-16384)"},
	})
	if err != nil {
		return err
	}
	if err := s.read.compile(ctx, selectFolder, selectLineage, selectDocument, inOneText(selectIDs), inOneText(selectIDsBelow), selectListed, selectUse, selectKey, selectAccount); err != nil {
		return err
	}
	s.watch, err = newWatch(ctx, s.read.db)
	return err
}

// Version changes with every change that is committed to the database, by whichever process; 0 is unknown.
type Version int64

// Version returns the version of the database, 0 in PostgreSQL. What is read after it, and until it
// changes, is the same.
func (a Archive) Version(ctx context.Context) Version { return a.watch.version(ctx) }

// watch is a connection that never changes anything: SQLite tells it of changes by others.
type watch struct {
	conn  *sql.Conn // the number means nothing to another connection
	query *sql.Stmt
}

func newWatch(ctx context.Context, db *sql.DB) (*watch, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	query, err := conn.PrepareContext(ctx, "PRAGMA data_version")
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &watch{conn, query}, nil
}

func (w *watch) version(ctx context.Context) (v Version) {
	if w == nil || w.query.QueryRowContext(context.WithoutCancel(ctx)).Scan(&v) != nil {
		return 0
	}
	return v
}

func (w *watch) close() error {
	if w == nil {
		return nil
	}
	err := errors.Join(w.query.Close(), w.conn.Close())
	if errors.Is(err, sql.ErrConnDone) {
		return nil // it was closed before
	}
	return err
}

// private creates the file with mode 0600, or sets that mode: SQLite would use 0644, and others may be able to enter
// the directory. SQLite gives its other files, such as the write-ahead log, the same mode.
func private(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the data directory is the operator's choice
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// openPool prepares up to n connections.
func openPool(file string, n int, options url.Values) (*pool, error) {
	dsn := url.URL{Scheme: "file", Path: file, RawQuery: options.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return &pool{db: db, engine: inFile{}}, nil
}

// inFile is SQLite. One process uses the file, and its single connection for writing serializes changes.
type inFile struct{}

func (inFile) text(query string) string {
	return strings.TrimSuffix(strings.TrimSuffix(query, skipLocked), forUpdate)
}

// migrate does each step in a transaction of its own. The version is kept in SQLite's user_version.
func (e inFile) migrate(ctx context.Context, p *pool) error {
	_, steps, err := e.lacks(ctx, p)
	if err != nil {
		return err
	}
	for _, step := range steps {
		err := p.change(ctx, func(tx changing) error {
			if err := step.run(ctx, tx); err != nil {
				return err
			}
			_, err := tx.exec(ctx, fmt.Sprintf("PRAGMA user_version = %d", step.version))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lacks returns the version of a database, and the missing steps to the newest one.
func (inFile) lacks(ctx context.Context, p *pool) (version int, steps []step, err error) {
	if err := p.row(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, nil, fmt.Errorf("read schema version: %w", err)
	}
	steps, err = stepsAfter("sqlite", version)
	return version, steps, err
}

// wantNewest refuses a database that would have to be migrated.
func (e inFile) wantNewest(ctx context.Context, p *pool) error {
	version, _, err := e.lacks(ctx, p)
	if err != nil {
		return err
	}
	return current("sqlite", version)
}

func (inFile) taken(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

func (inFile) again(error) bool { return false }

// full implements engine. SQLITE_IOERR_SHMSIZE means that the index of the write-ahead log cannot grow.
func (inFile) full(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code() == sqlite3.SQLITE_FULL || e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE)
}

func (inFile) begin(context.Context, changing) (string, error)                   { return "", nil }
func (inFile) settle(_ context.Context, _ *sql.DB, _ string, failed error) error { return failed }
func (inFile) several() bool                                                     { return false }
func (inFile) lock(context.Context, session, string) error                       { return nil }
func (inFile) share(context.Context, session, []string) error                    { return nil }
func (inFile) claim(context.Context, session, string) (bool, error)              { return true, nil }

func (inFile) removable(context.Context, session) (bool, error) { return true, nil }

// View opens the SQLite database in a file for reading only, also while another process writes to it.
// Nothing is migrated: a database of another schema version is an error.
func View(ctx context.Context, file string) (*Store, error) {
	return open(file, func(s *Store) (err error) {
		if _, err := os.Stat(file); err != nil { // SQLite would create it
			return err
		}
		s.read, err = openPool(file, 2, url.Values{
			"_pragma": {busyTimeout, "query_only(1)", "cache_size(-16384)"},
		})
		if err != nil {
			return err
		}
		return inFile{}.wantNewest(ctx, s.read)
	})
}

// current returns an error unless version is the newest schema version of an engine.
func current(engine string, version int) error {
	steps, err := stepsAfter(engine, version)
	if err == nil && len(steps) > 0 {
		err = fmt.Errorf("it has an older schema version, %d: let archivefs serve open it once, and migrate it", version)
	}
	return err
}

// trigram is the length from which said_index can find a text.
const trigram = 3

func (inFile) mention(folded string) (condition, bool) {
	scan := condition{"instr(d.said, ?) > 0", []any{folded}}
	if utf8.RuneCountInString(folded) < trigram {
		return scan, false
	}
	return condition{
		`(d.id IN (SELECT rowid FROM said_index WHERE said_index MATCH ?)
		OR d.id > (SELECT id FROM indexed_to) AND ` + scan.sql + ")",
		append([]any{quoted(folded)}, scan.args...),
	}, true
}

// quoted is a text as an FTS5 string.
func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// indexSaid adds up to n documents that are not yet in said_index.
func (inFile) indexSaid(ctx context.Context, tx changing, n int) (more bool, err error) {
	var from, to, count int64
	if err := tx.row(ctx, "SELECT id FROM indexed_to").Scan(&from); err != nil {
		return false, fmt.Errorf("read what is indexed: %w", err)
	}
	err = tx.row(ctx, "SELECT coalesce(max(id), 0), count(*) FROM (SELECT id FROM document WHERE id > ? ORDER BY id LIMIT ?)", from, n).Scan(&to, &count)
	if err != nil || count == 0 {
		return false, err
	}
	if _, err := tx.exec(ctx, "INSERT INTO said_index (rowid, said) SELECT id, said FROM document WHERE id > ? AND id <= ?", from, to); err != nil {
		return false, fmt.Errorf("index documents: %w", err)
	}
	_, err = tx.exec(ctx, "UPDATE indexed_to SET id = ?", to)
	return count == int64(n), err
}

// secure has the connection that writes overwrite what it deletes, until scrub has ended.
func (inFile) secure(ctx context.Context, tx changing) error {
	var on int
	return tx.row(ctx, "PRAGMA secure_delete = 1").Scan(&on)
}

func (inFile) insertRow(t table) string { return t.insert() }

// mergeAtOnce is how many pages of an index are merged in one transaction, for which other changes wait.
const mergeAtOnce = 256

// scrub merges the search indexes, which drops the words of deleted rows, and copies the write-ahead log
// into the file. Deleted rows themselves were overwritten (see secure).
func (inFile) scrub(ctx context.Context, p *pool) error {
	for _, index := range []string{"said_index", "content_index"} {
		for pages := -mergeAtOnce; pages != 0; {
			err := p.change(ctx, func(tx changing) error {
				var before, after int64
				err := tx.row(ctx, "SELECT total_changes()").Scan(&before)
				if err == nil {
					_, err = tx.exec(ctx, "INSERT INTO "+index+" ("+index+", rank) VALUES ('merge', ?)", pages)
				}
				if err == nil {
					err = tx.row(ctx, "SELECT total_changes()").Scan(&after)
				}
				pages = mergeAtOnce
				if after-before < 2 { // there was nothing to merge
					pages = 0
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("merge %s: %w", index, err)
			}
		}
	}
	var busy, log, done int
	if err := p.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done); err != nil {
		return fmt.Errorf("empty write-ahead log: %w", err)
	}
	if busy != 0 {
		return errors.New("empty write-ahead log: somebody still reads from it")
	}
	return p.db.QueryRowContext(ctx, "PRAGMA secure_delete = 0").Scan(&done)
}

func (inFile) contains(s sought) condition {
	var match strings.Builder
	match.WriteString("words : " + quoted(strings.Join(s.words, " ")))
	if s.prefix {
		match.WriteString(" *")
	}
	for _, stem := range s.stems {
		match.WriteString(" OR " + quoted(stem))
	}
	return condition{`d.digest IN (SELECT digest FROM content
		WHERE id IN (SELECT rowid FROM content_index WHERE content_index MATCH ?))`, []any{match.String()}}
}

func (inFile) indexText(ctx context.Context, tx changing, id int64, v vector) error {
	_, err := tx.exec(ctx, "INSERT OR REPLACE INTO content_index (rowid, words, stems) VALUES (?, ?, ?)",
		id, strings.Join(v.words, " "), strings.Join(v.stems, " "))
	return err
}
