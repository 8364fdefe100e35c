// Package retry holds the rules by which requests to the archive service are repeated: how long
// to wait before the next one (Backoff, and what the service asks by Retry-After), for how long
// in all (Budget), and when nothing is sent because the service is known to be away (Breaker).
// The clock and the locks are the caller's.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is exponential backoff with jitter.
type Backoff struct {
	// First is the delay after the first failure. It doubles up to Longest.
	First, Longest time.Duration
	// Less and More bound the jitter: each delay is multiplied by a random factor from 1-Less
	// to 1+More. Where both are 0 there is none.
	Less, More float64
}

// After is the delay after so many failures in a row, one or more.
func (b Backoff) After(failures int) time.Duration {
	d := b.Longest
	if doublings := failures - 1; b.First <= b.Longest>>doublings {
		d = b.First << doublings
	}
	if b.Less+b.More > 0 {
		d = time.Duration(float64(d) * (1 - b.Less + rand.Float64()*(b.Less+b.More))) //nolint:gosec // to spread requests
	}
	return d
}

// Sleep waits for d, or until ctx is done, whose error it then returns.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
