package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
)

const (
	// retryFor is how long something is tried again: a database that is started anew takes some
	// seconds.
	retryFor = 5 * time.Second
	// retryPause is the longest first pause. The next one is twice as long, up to a second.
	retryPause = 20 * time.Millisecond
)

// retry does something until it succeeds or need not be tried again. What could be tried again
// after that is KindUnreachable. Where there is no room it is ENOSPC, wherever the database has its disk.
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
		if sleep(ctx, rand.N(pause)) != nil { //nolint:gosec // it only spreads what is tried again
			return failed()
		}
		if err = do(); err == nil || !p.engine.again(err) {
			return err
		}
	}
	return failed()
}

// sleep waits, or returns the error of the context that ended before.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
