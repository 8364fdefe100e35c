package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
)

// busyTimeout is how long a connection waits for a lock, in milliseconds. Only a
// checkpoint or a foreign reader (a backup) can hold one.
const busyTimeout = "busy_timeout(10000)"

// Store is an open database with the archives of all tenants. Its methods, and those of its
// views, may be called concurrently.
type Store struct{ *database }

// database is what a Store and its views share.
type database struct {
	write *pool // of one connection: writers queue here, not at the database's lock
	read  *pool
}

// Open opens the database file, makes it when it is not there, and migrates it. Only its
// owner may read it. The caller sees to it that no other process has it open for writing.
func Open(ctx context.Context, file string) (*Store, error) {
	s := &Store{&database{}}
	if err := s.open(ctx, file); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", file, err), s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, file string) (err error) {
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
	if err := migrate(ctx, s.write); err != nil {
		return err
	}
	s.write.statements, err = compile(ctx, s.write.db, selectFolder, selectDocument, selectKnown, insertDocument)
	if err != nil {
		return err
	}
	s.read, err = openPool(file, max(4, 2*runtime.NumCPU()), url.Values{
		"_pragma": {busyTimeout, "query_only(1)", "cache_size(-16384)"},
	})
	if err != nil {
		return err
	}
	s.read.statements, err = compile(ctx, s.read.db, selectFolder, selectDocument, selectIDs, selectIDsBelow, selectListed, selectUse)
	return err
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
func openPool(file string, n int, options url.Values) (*pool, error) {
	dsn := url.URL{Scheme: "file", Path: file, RawQuery: options.Encode()}
	db, err := connect(dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return &pool{db: db}, nil
}

// Close closes the database; what was answered before is on disk already.
func (s *Store) Close() error {
	var errs []error
	for _, p := range []*pool{s.read, s.write} {
		if p != nil {
			errs = append(errs, p.db.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}
