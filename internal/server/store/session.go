package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// session runs queries on a pool of connections or in a transaction. Each query is
// compiled once for a connection (sql.Stmt): compiling takes longer than most of them run.
type session interface {
	exec(ctx context.Context, query string, args ...any) (sql.Result, error)
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	row(ctx context.Context, query string, args ...any) *sql.Row
}

// statements are the compiled queries of a pool, by their text. The map is filled when
// the pool is opened and only read after that; a query that is not in it is compiled when
// it runs.
type statements map[string]*sql.Stmt

func compile(ctx context.Context, db *sql.DB, queries ...string) (statements, error) {
	compiled := make(statements, len(queries))
	for _, query := range queries {
		statement, err := db.PrepareContext(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("compile %q: %w", query, err)
		}
		compiled[query] = statement
	}
	return compiled, nil
}

// pool is a session of its own for each query.
type pool struct {
	db *sql.DB
	statements
}

func (p *pool) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if statement := p.statements[query]; statement != nil {
		return statement.ExecContext(ctx, args...)
	}
	return p.db.ExecContext(ctx, query, args...)
}

func (p *pool) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if statement := p.statements[query]; statement != nil {
		return statement.QueryContext(ctx, args...)
	}
	return p.db.QueryContext(ctx, query, args...)
}

func (p *pool) row(ctx context.Context, query string, args ...any) *sql.Row {
	if statement := p.statements[query]; statement != nil {
		return statement.QueryRowContext(ctx, args...)
	}
	return p.db.QueryRowContext(ctx, query, args...)
}

// transaction is a session within one transaction.
type transaction struct {
	tx *sql.Tx
	statements
}

func (t *transaction) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if statement := t.statements[query]; statement != nil {
		return t.tx.StmtContext(ctx, statement).ExecContext(ctx, args...)
	}
	return t.tx.ExecContext(ctx, query, args...)
}

func (t *transaction) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if statement := t.statements[query]; statement != nil {
		return t.tx.StmtContext(ctx, statement).QueryContext(ctx, args...)
	}
	return t.tx.QueryContext(ctx, query, args...)
}

func (t *transaction) row(ctx context.Context, query string, args ...any) *sql.Row {
	if statement := t.statements[query]; statement != nil {
		return t.tx.StmtContext(ctx, statement).QueryRowContext(ctx, args...)
	}
	return t.tx.QueryRowContext(ctx, query, args...)
}

// change runs f in a transaction that is committed when f returns nil.
func (p *pool) change(ctx context.Context, f func(session) error) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	if err := f(&transaction{tx: tx, statements: p.statements}); err != nil {
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
