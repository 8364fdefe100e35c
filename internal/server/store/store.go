package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"runtime"

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
)

// busyTimeout is how long a connection waits for a lock, in milliseconds. Only a
// checkpoint or a foreign reader (a backup) can hold one.
const busyTimeout = "busy_timeout(10000)"

// Store is an open database. Its methods may be called concurrently.
type Store struct {
	write *sql.DB // one connection: writers queue here, not at the database's lock
	read  *sql.DB
}

// Open opens the database file, makes it when it is not there, and migrates it. The
// caller sees to it that no other process has it open for writing.
func Open(ctx context.Context, file string) (*Store, error) {
	write, err := sql.Open("sqlite", dsn(file, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {busyTimeout, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"},
	}))
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	write.SetMaxOpenConns(1)
	if err := migrate(ctx, write); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", file, err), write.Close())
	}
	read, err := sql.Open("sqlite", dsn(file, url.Values{
		"_pragma": {busyTimeout, "query_only(1)", "cache_size(-16384)"},
	}))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), write.Close())
	}
	readers := max(4, 2*runtime.NumCPU())
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	return &Store{write: write, read: read}, nil
}

// Close closes the database; what was answered before is on disk already.
func (s *Store) Close() error {
	if err := errors.Join(s.read.Close(), s.write.Close()); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}

func dsn(file string, options url.Values) string {
	return (&url.URL{Scheme: "file", Path: file, RawQuery: options.Encode()}).String()
}

// inTx runs f in a transaction that is committed when f returns nil.
func inTx(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	if err := f(tx); err != nil {
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			return errors.Join(err, fmt.Errorf("roll back: %w", rollback))
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// querier is what a connection pool and a transaction have in common.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
