package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const (
	// holdEvery is how often it is looked whether a hold lasts. Nothing on the way then takes its
	// connection for idle.
	holdEvery = 2 * time.Second
	// holdTimeout is how long the database has to answer that.
	holdTimeout = 30 * time.Second
)

// Hold is a lock between all processes that use a PostgreSQL database, for as long as a
// connection lasts.
type Hold struct {
	tx     *sql.Tx
	what   string
	cancel context.CancelCauseFunc
	ended  chan struct{}
}

// hold takes the lock of that name, of which there is one, and what else take takes.
func (d *database) hold(ctx context.Context, what, name string, take func(session) error) (held context.Context, h *Hold, err error) {
	// A connection beside those that the URL allows: who holds works with them.
	d.write.db.SetMaxOpenConns(d.write.db.Stats().MaxOpenConnections + 1)
	// No snapshot is kept: the server goes on to tidy up meanwhile. A lock of a transaction, and
	// not of a session, so that a pool of connections in between does not matter.
	began, err := d.write.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted, ReadOnly: true})
	if err != nil {
		return nil, nil, fmt.Errorf("begin %s: %w", what, err)
	}
	tx := &transaction{tx: began, pool: d.write}
	alone, err := d.claim(ctx, tx, name)
	if err == nil && !alone {
		err = fmt.Errorf("another %s is under way", what)
	}
	if err == nil {
		_, err = tx.exec(ctx, withoutLimits)
	}
	if err == nil {
		err = take(tx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, began.Rollback())
	}
	h = &Hold{tx: began, what: what, ended: make(chan struct{})}
	held, h.cancel = context.WithCancelCause(ctx)
	go h.watch(held)
	return held, h, nil
}

// watch ends the context of a hold that is lost.
func (h *Hold) watch(ctx context.Context) {
	defer close(h.ended)
	for sleep(ctx, holdEvery) == nil {
		if err := h.Check(ctx); err != nil {
			h.cancel(err)
			return
		}
	}
}

// Check is an error unless the hold has lasted until now.
func (h *Hold) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), holdTimeout) // who cancelled it would end the hold
	defer cancel()
	if _, err := h.tx.ExecContext(ctx, "SELECT 1"); err != nil {
		return fmt.Errorf("the %s lost its connection to the database, and with it what kept others away; call it again: %w", h.what, err)
	}
	return nil
}

// Release ends the hold. One whose connection is gone has ended.
func (h *Hold) Release() {
	h.cancel(nil)
	<-h.ended
	_ = h.tx.Rollback()
}
