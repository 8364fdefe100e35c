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

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// busyTimeout is how long a connection waits for a lock, in milliseconds. Only a
// checkpoint or a foreign reader (a backup) can hold one.
const busyTimeout = "busy_timeout(10000)"

// Open opens the SQLite database in a file, makes it when it is not there, and migrates it.
// Only its owner may read it. The caller sees to it that no other process adds or removes
// documents in it.
func Open(ctx context.Context, file string) (*Store, error) {
	return open(ctx, file, inFile.migrate)
}

// OpenBeside opens a SQLite database that another process uses, to which alone documents are
// left. It is not migrated: one of an older version is refused.
func OpenBeside(ctx context.Context, file string) (*Store, error) {
	return open(ctx, file, inFile.wantNewest)
}

func open(ctx context.Context, file string, prepare func(inFile, context.Context, *pool) error) (*Store, error) {
	s := newStore(inFile{})
	if err := s.openFile(ctx, file, prepare); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", file, err), s.Close())
	}
	return s, nil
}

func (s *Store) openFile(ctx context.Context, file string, prepare func(inFile, context.Context, *pool) error) (err error) {
	if err := private(file); err != nil {
		return err
	}
	s.write, err = s.openPool(file, 1, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {busyTimeout, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"},
	})
	if err != nil {
		return err
	}
	if err := prepare(inFile{}, ctx, s.write); err != nil {
		return err
	}
	if err := s.write.compile(ctx, selectFolder, selectLineage, changeDocument, selectKnown, selectPerson, insertDocument, insertEntry); err != nil {
		return err
	}
	s.read, err = s.openPool(file, max(4, 2*runtime.NumCPU()), url.Values{
		"_pragma": {busyTimeout, "query_only(1)", "cache_size(-16384)"},
	})
	if err != nil {
		return err
	}
	return s.read.compile(ctx, selectFolder, selectLineage, selectDocument, selectIDs, selectIDsBelow, selectListed, selectUse, selectKey, selectAccount)
}

// private makes the file with mode 0600, or gives it that mode: SQLite would take 0644,
// and the directory may be one that others can enter. The files beside it, the
// write-ahead log among them, get the mode of this one.
func private(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the data directory is the operator's choice
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// openPool prepares connections, of which up to n are kept.
func (s *Store) openPool(file string, n int, options url.Values) (*pool, error) {
	dsn := url.URL{Scheme: "file", Path: file, RawQuery: options.Encode()}
	db, err := connect(dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return &pool{db: db, engine: s.engine}, nil
}

// inFile is SQLite. One process has the file, and its one connection for writing is the lock
// between changes.
type inFile struct{}

func (inFile) text(query string) string {
	return strings.TrimSuffix(strings.TrimSuffix(query, skipLocked), forUpdate)
}

// migrate does each step in a transaction of its own. The version is kept in SQLite's
// user_version.
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

// lacks returns the version of a database, and the steps from there to the newest one.
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
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

func (inFile) again(error) bool { return false }

// full implements engine. The second is what the index of the write-ahead log says where it cannot grow.
func (inFile) full(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_FULL || e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE)
}

func (inFile) begin(context.Context, changing) (string, error) { return "", nil }

func (inFile) settle(_ context.Context, _ *sql.DB, _ string, failed error) error { return failed }

func (inFile) several() bool { return false }

func (inFile) lock(context.Context, session, string) error { return nil }

func (inFile) share(context.Context, session, []string) error { return nil }

func (inFile) claim(context.Context, session, string) (bool, error) { return true, nil }

func (inFile) removable(context.Context, session) (bool, error) { return true, nil }
