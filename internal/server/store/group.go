package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// group makes changes of a database with one connection for writing. Those that arrive during a commit
// share the next transaction, and so its sync: each has a savepoint of its own, so that one that fails
// takes none of the others along.
type group struct {
	mu sync.Mutex
	// busy says that a transaction is under way.
	busy bool // +checklocks:mu
	// waiting are the members of the next one.
	waiting []*member // +checklocks:mu
}

// member is a change.
type member struct {
	ctx      context.Context // of the change, which ends with turn
	do       func(changing) error
	err      error
	panicked any
	// turn gets the members of a transaction, by the first one of them, or nil when it has ended.
	turn chan []*member
}

// change makes a change in a transaction, which it may share.
func (g *group) change(ctx context.Context, p *pool, do func(changing) error) error {
	m := &member{ctx: ctx, do: do, turn: make(chan []*member, 1)}
	if members := g.join(m); members != nil {
		g.lead(p, members) //nolint:contextcheck // each change has its own
	}
	if m.panicked != nil {
		panic(m.panicked)
	}
	return m.err
}

// join waits for a transaction with m to end, and then returns nil. If m is to make it, it returns its
// members, m first.
func (g *group) join(m *member) []*member {
	g.mu.Lock()
	if g.busy {
		g.waiting = append(g.waiting, m)
		g.mu.Unlock()
		return <-m.turn
	}
	defer g.mu.Unlock()
	g.busy = true
	return []*member{m}
}

// lead makes the transaction of members, and passes the next one on to the first of those who wait.
func (g *group) lead(p *pool, members []*member) {
	defer func() {
		g.mu.Lock()
		next := g.waiting
		g.waiting, g.busy = nil, len(next) > 0
		g.mu.Unlock()
		if len(next) > 0 {
			next[0].turn <- next
		}
		for _, m := range members[1:] {
			m.turn <- nil
		}
	}()
	if len(members) > 1 && p.share(members) {
		return
	}
	for _, m := range members {
		m.alone(p)
	}
}

func (m *member) alone(p *pool) {
	defer func() { m.panicked = recover() }()
	m.err = p.once(m.ctx, m.do)
}

// share makes changes in one transaction. It reports false if that failed before the commit, so that
// nothing was changed. After a failed commit each of them has failed.
func (p *pool) share(members []*member) bool {
	began, err := p.db.BeginTx(context.WithoutCancel(members[0].ctx), nil)
	if err != nil {
		return false
	}
	defer began.Rollback() //nolint:errcheck // it does nothing after the commit
	tx := &transaction{tx: began, pool: p}
	for _, m := range members {
		if err := m.apart(tx); err != nil {
			return false
		}
	}
	if err := began.Commit(); err != nil {
		for _, m := range members {
			if m.err == nil {
				m.err = fmt.Errorf("commit: %w", err)
			}
		}
	}
	return true
}

const (
	beginPart  = "SAVEPOINT part"
	dropPart   = "ROLLBACK TO part"
	finishPart = "RELEASE part"
)

// apart makes a change in a savepoint. An error says that the transaction has failed as a whole: after
// some errors SQLite rolls all of it back.
func (m *member) apart(tx *transaction) error {
	ctx := context.WithoutCancel(m.ctx)
	if _, err := tx.exec(ctx, beginPart); err != nil {
		return err
	}
	m.run(tx)
	var err error
	if m.err != nil || m.panicked != nil {
		_, err = tx.exec(ctx, dropPart)
	}
	_, ferr := tx.exec(ctx, finishPart)
	return errors.Join(err, ferr)
}

func (m *member) run(tx *transaction) {
	m.err, m.panicked = m.ctx.Err(), nil
	if m.err != nil {
		return
	}
	defer func() { m.panicked = recover() }()
	m.err = m.do(tx)
}
