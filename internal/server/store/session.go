package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
)

// session runs queries on a pool of connections or in a transaction. Frequent queries are prepared once
// for each connection (sql.Stmt), because preparing takes longer than most of them run.
type session interface {
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	row(ctx context.Context, query string, args ...any) scanner
}

// changing is a session that may change something. It is always a transaction.
type changing interface {
	session
	exec(ctx context.Context, query string, args ...any) (sql.Result, error)
}

type scanner interface{ Scan(dest ...any) error }

// failed is the row of a query that could not be run.
type failed struct{ error }

func (f failed) Scan(...any) error { return f.error }

// storable refuses texts that not every engine can store.
func storable(args []any) error {
	for _, arg := range args {
		if text, ok := arg.(string); ok && (strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text)) {
			return refuse(archive.KindInvalid, "a text is not UTF-8, or contains a NUL character")
		}
	}
	return nil
}

// pool runs each query on any connection, or in the transaction of its scope if there is one.
type pool struct {
	db     *sql.DB
	engine engine
	// statements are prepared queries, by their text in this package. The map is filled when the pool
	// is opened and only read after that; a query that is not in it is prepared when it runs.
	statements map[string]*sql.Stmt
	group      *group // nil if the database joins commits by itself
	scope      Scope
}

func (p *pool) compile(ctx context.Context, queries ...string) error {
	p.statements = make(map[string]*sql.Stmt, len(queries))
	for _, query := range queries {
		statement, err := p.db.PrepareContext(ctx, p.engine.text(query))
		if err != nil {
			return fmt.Errorf("compile %q: %w", query, err)
		}
		p.statements[query] = statement
	}
	return nil
}

func (p *pool) query(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	if p.scope.tx != nil {
		return p.scope.tx.query(ctx, query, args...)
	}
	if err := storable(args); err != nil {
		return nil, err
	}
	err = p.retry(ctx, func() error {
		if statement := p.statements[query]; statement != nil {
			rows, err = statement.QueryContext(ctx, args...)
		} else {
			rows, err = p.db.QueryContext(ctx, p.engine.text(query), args...)
		}
		return err
	})
	return rows, err
}

func (p *pool) row(ctx context.Context, query string, args ...any) scanner {
	if p.scope.tx != nil {
		return p.scope.tx.row(ctx, query, args...)
	}
	if err := storable(args); err != nil {
		return failed{err}
	}
	return &asked{ctx, p, query, args}
}

// asked is a query for a row, which runs when it is scanned.
type asked struct {
	ctx   context.Context // of the query, which ends with Scan
	pool  *pool
	query string
	args  []any
}

func (a *asked) Scan(dest ...any) error {
	return a.pool.retry(a.ctx, func() error {
		if statement := a.pool.statements[a.query]; statement != nil {
			return statement.QueryRowContext(a.ctx, a.args...).Scan(dest...)
		}
		return a.pool.db.QueryRowContext(a.ctx, a.pool.engine.text(a.query), a.args...).Scan(dest...)
	})
}

// transaction is a session in one transaction, for one goroutine at a time.
type transaction struct {
	tx   *sql.Tx
	pool *pool
	own  map[string]*sql.Stmt // the pool's prepared queries that it has used
}

// compiled returns a prepared query of the pool, nil if there is none. It is cached, because
// StmtContext makes a new one on each call and keeps all until the transaction ends.
func (t *transaction) compiled(ctx context.Context, query string) *sql.Stmt {
	statement := t.pool.statements[query]
	if statement == nil {
		return nil
	}
	if t.own[query] == nil {
		if t.own == nil {
			t.own = map[string]*sql.Stmt{}
		}
		t.own[query] = t.tx.StmtContext(ctx, statement)
	}
	return t.own[query]
}

func (t *transaction) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := storable(args); err != nil {
		return nil, err
	}
	if statement := t.compiled(ctx, query); statement != nil {
		return statement.ExecContext(ctx, args...)
	}
	return t.tx.ExecContext(ctx, t.pool.engine.text(query), args...)
}

func (t *transaction) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := storable(args); err != nil {
		return nil, err
	}
	if statement := t.compiled(ctx, query); statement != nil {
		return statement.QueryContext(ctx, args...)
	}
	return t.tx.QueryContext(ctx, t.pool.engine.text(query), args...)
}

func (t *transaction) row(ctx context.Context, query string, args ...any) scanner {
	if err := storable(args); err != nil {
		return failed{err}
	}
	if statement := t.compiled(ctx, query); statement != nil {
		return statement.QueryRowContext(ctx, args...)
	}
	return t.tx.QueryRowContext(ctx, t.pool.engine.text(query), args...)
}

// Scope is what changes belong to. With its zero value each is one of its own.
type Scope struct {
	tx changing // nil without one
	// await is what the commit of a change of its own waits for, nil for nothing. The change is committed only after
	// it has returned nil. It may be called more than once, by another goroutine.
	await func() error
}

// in returns the pool for what belongs to s.
func (p *pool) in(s Scope) *pool {
	in := *p
	in.scope = s
	return &in
}

// in returns the database for what belongs to s.
func (d *database) in(s Scope) *database {
	in := *d
	in.write = d.write.in(s)
	if s.tx != nil {
		in.read = in.write
	}
	return &in
}

// awaited returns f with what its commit waits for.
func (s Scope) awaited(f func(changing) error) func(changing) error {
	if s.await == nil {
		return f
	}
	return func(tx changing) error {
		if err := f(tx); err != nil {
			return err
		}
		return s.await()
	}
}

// change runs f in a transaction that is committed if f returns nil. After an error of the database that
// has changed nothing, f may be run again. Another goroutine may run it.
func (p *pool) change(ctx context.Context, f func(changing) error) error {
	if p.scope.tx != nil {
		return f(p.scope.tx)
	}
	f = p.scope.awaited(f)
	return p.retry(ctx, func() error {
		if p.group != nil {
			return p.group.change(ctx, p, f)
		}
		var mark string
		err := p.once(ctx, func(tx changing) (err error) {
			if mark, err = p.engine.begin(ctx, tx); err != nil {
				return err
			}
			return f(tx)
		})
		if uncertain := new(commitError); errors.As(err, &uncertain) {
			return p.engine.settle(ctx, p.db, mark, err)
		}
		return err
	})
}

type commitError struct{ error }

func (e *commitError) Unwrap() error { return e.error }

func (p *pool) once(ctx context.Context, f func(changing) error) error {
	began, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	defer began.Rollback() //nolint:errcheck // of a panic; else it does nothing
	if err := f(&transaction{tx: began, pool: p}); err != nil {
		if rollback := began.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) && !p.engine.again(err) {
			return errors.Join(err, fmt.Errorf("roll back: %w", rollback))
		}
		return err
	}
	if err := began.Commit(); err != nil {
		return &commitError{fmt.Errorf("commit: %w", err)}
	}
	return nil
}

const (
	// retryFor is how long an operation is retried: a restart of the database takes some seconds.
	retryFor = 5 * time.Second
	// retryPause is the longest first pause. It doubles with each retry, up to a second.
	retryPause = 20 * time.Millisecond
)

// retry repeats an operation while it fails with a transient error, for retryFor; then the error is
// KindUnreachable. A full disk is ENOSPC, even if it is the database server's.
func (p *pool) retry(ctx context.Context, do func() error) error {
	err := p.persist(ctx, do)
	if p.engine.full(err) {
		return fmt.Errorf("the database: %w: %w", syscall.ENOSPC, err)
	}
	return err
}

func (p *pool) persist(ctx context.Context, do func() error) error {
	err := do()
	if err == nil || !p.engine.again(err) {
		return err
	}
	failed := func() error { return &archive.Error{Op: "store", Kind: archive.KindUnreachable, Err: err} }
	ends := time.Now().Add(retryFor)
	for pause := retryPause; time.Now().Before(ends); pause = min(2*pause, time.Second) {
		if sleep(ctx, rand.N(pause)) != nil { //nolint:gosec // only jitter
			return failed()
		}
		if err = do(); err == nil || !p.engine.again(err) {
			return err
		}
	}
	return failed()
}

// sleep waits. It returns the error of ctx if that ends first.
func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// wrapped is an error with what failed, nil for nil.
func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// run makes a change; what describes it in errors.
func run(ctx context.Context, tx changing, what, query string, args ...any) error {
	_, err := tx.exec(ctx, query, args...)
	return wrapped(what, err)
}

// single reads the only column of the only row of a query; what describes the query in errors.
func single[T any](ctx context.Context, q session, what, query string, args ...any) (T, error) {
	v, err := only[T](q.row(ctx, query, args...))
	return v, wrapped(what, err)
}

// only reads the only column of a row.
func only[T any](row scanner) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}

// affected is how many rows a change has affected.
func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// collect reads all rows of a query; what describes the query in errors.
func collect[T any](ctx context.Context, q session, what string, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	all := []T{}
	err := eachRow(ctx, q, what, func(row scanner) error {
		one, err := scan(row)
		all = append(all, one)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// eachRow calls f with each row of a query; what describes the query in errors. The query has ended when it returns.
func eachRow(ctx context.Context, q session, what string, f func(scanner) error, query string, args ...any) error {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return wrapped(what, err)
	}
	for err == nil && rows.Next() {
		err = f(rows)
	}
	if err := cmp.Or(err, rows.Err()); err != nil {
		_ = rows.Close()
		return wrapped(what, err)
	}
	return rows.Close()
}
