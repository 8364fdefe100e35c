package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
	"github.com/archivefs/archivefs/internal/spool"
)

// changePause is the pause after so many attempts of a change, unless the service asks for another
// one.
func changePause(attempts int) time.Duration {
	return retry.Backoff{First: 100 * time.Millisecond, Longest: 5 * time.Second}.After(attempts)
}

// Change carries out a request that must take effect exactly once. If its end is in doubt, took
// looks for the effect; the request is repeated only if there is none, for as long as RetryFor
// allows. After a time-out it is not repeated, because the service may still be working on it. A
// Retry-After is obeyed, unless the service does not even answer a look.
func (s *Service) Change(ctx context.Context, do func(context.Context) error, took func(context.Context) (bool, error)) error {
	budget := retry.NewBudget(s.Now(), s.RetryFor)
	for attempts := 1; ; {
		err := do(ctx)
		if err == nil || !archive.Doubtful(err) {
			return err
		}
		ended, asked := s.Now(), archive.RetryAfter(err)
		again := archive.KindOf(err) != archive.KindTimeout && budget.Grant(asked)
		for _, after := range []time.Duration{changePause(attempts), asked} {
			wait := after - s.Now().Sub(ended)
			if wait <= 0 {
				continue
			}
			if werr := s.Sleep(ctx, wait); werr != nil {
				return err
			}
			done, lerr := took(ctx)
			switch {
			case lerr != nil:
				return fmt.Errorf("%w; looking for its effect failed: %s", err, lerr.Error()) // the next listing may show it
			case done:
				return nil
			case !again, budget.Left(s.Now()) < 0:
				return err
			}
		}
		if asked == 0 {
			attempts++
		}
	}
}

// ErrElsewhere says that a document has left its inbox for another place than the requested one:
// somebody else archived it, or an earlier request that timed out.
var ErrElsewhere = errors.New("it has left the inbox for another place or name")

// LookLate looks for a document that has left its inbox, for as long as a service may take to list
// it in its folder. The error says that it is not there.
func (s *Service) LookLate(ctx context.Context, look func(context.Context) (bool, error)) (bool, error) {
	end := s.Now().Add(spool.LookFor(s.RetryFor))
	for looks := 1; ; looks++ {
		switch found, err := look(ctx); {
		case found:
			return true, nil
		case err != nil && !archive.Away(err):
			return false, err
		case s.Now().After(end):
			return false, cmp.Or(err, ErrElsewhere)
		}
		if err := s.Sleep(ctx, changePause(looks)); err != nil {
			return false, err
		}
	}
}
